/**
 * A value or an output as it was kept to be looked at.
 *
 * The rule: what comes from a store is shown as text, as an image, or as HTML that
 * JupyterLab has sanitized.
 */

import * as React from 'react';

import type { MimeBundle } from './runview';

interface PreviewProps {
  readonly bundle: MimeBundle;
  readonly label: string;
  readonly sanitize: (html: string) => string;
}

const IMAGES = ['image/png', 'image/jpeg', 'image/gif'];

/** The richest form that can be shown safely. */
export function Preview({ bundle, label, sanitize }: PreviewProps): JSX.Element | null {
  const image = IMAGES.find(type => type in bundle);
  if (image !== undefined) {
    return <img alt={label} src={`data:${image};base64,${bundle[image]}`} />;
  }
  if ('image/svg+xml' in bundle) {
    // as an image it runs no script
    const svg = encodeURIComponent(bundle['image/svg+xml']);
    return <img alt={label} src={`data:image/svg+xml,${svg}`} />;
  }
  if ('text/html' in bundle) {
    const __html = sanitize(bundle['text/html']);
    return (
      <div
        className="jp-nbresume-html jp-RenderedHTMLCommon"
        role="group"
        aria-label={label}
        tabIndex={0}
        dangerouslySetInnerHTML={{ __html }}
      />
    );
  }
  return 'text/plain' in bundle ? <pre>{bundle['text/plain']}</pre> : null;
}
