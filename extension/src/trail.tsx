/** The audit trail: who did what, when and why; folded until somebody asks. */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { LongList } from './list';
import type { RunEvent } from './runview';
import { age } from './words';

interface TrailProps {
  readonly events: readonly RunEvent[] | null;
  readonly now: Date;
  readonly show: (isShown: boolean) => void;
  readonly trans: TranslationBundle;
}

/** The records of a run, newest first. */
export function Trail({ events, now, show, trans }: TrailProps): JSX.Element {
  return (
    <details
      className="jp-nbresume-trail"
      onToggle={event => show(event.currentTarget.open)}
    >
      <summary>{trans.__('History')}</summary>
      {events !== null && (
        <LongList
          items={[...events].reverse()}
          keyOf={({ revision }) => String(revision)}
          attributes={({ revision }) => ({ 'data-revision': revision })}
          label={trans.__('Records of this run, newest first')}
          className="jp-nbresume-records"
          row={event => (
            <>
              <div className="jp-nbresume-what">
                {event.step !== '' && <b>{event.step} </b>}
                {event.text}
              </div>
              <div
                className="jp-nbresume-facts"
                title={event.at === null ? '' : new Date(event.at).toLocaleString()}
              >
                {[
                  event.at === null ? '' : age(event.at, now, trans),
                  event.actor,
                  event.why
                ]
                  .filter(part => part !== '')
                  .join(' · ')}
              </div>
            </>
          )}
        />
      )}
    </details>
  );
}
