"""The border before an emulator of Google's storage: what that lacks.

The rule: objects, generations and their conditions are the emulator's. It knows those
conditions in Google's JSON API only, so what obstore sends (the XML API) is said again
in JSON: the put of an object, its condition, and the copy.
"""

import json
import uuid
from http.client import HTTPConnection
from urllib.parse import quote, unquote, urlencode

from proxy import Proxy

TOKEN = "test"  # noqa: S105 - of the emulator
_CONDITION = "x-goog-if-generation-match"
_BETWEEN = uuid.uuid4().hex.encode()
_PART = b"--" + _BETWEEN + b"\r\nContent-Type: %s\r\n\r\n%s\r\n"
_SOURCE = "x-goog-copy-source"


class Border(Proxy):
    """Stands before the emulator, asks for a token and speaks XML."""

    def forward(self, asked, body):
        """Make the call, in the words of the emulator."""
        if asked.headers.get("Authorization") != f"Bearer {TOKEN}":
            return 401, [], b"Invalid Credentials"
        if asked.command != "PUT":
            # the name under which the emulator speaks XML
            asked.headers.replace_header("Host", "storage.googleapis.com")
            answer = super().forward(asked, body)
            # what Google says of a listing where there is no bucket
            return (404, [], b"") if answer[0] == 500 else answer
        bucket, _, key = (
            unquote(asked.path.partition("?")[0]).lstrip("/").partition("/")
        )
        if source := asked.headers.get(_SOURCE):
            other, _, name = unquote(source).lstrip("/").partition("/")
            path = f"/storage/v1/b/{other}/o/{quote(name, safe='')}/rewriteTo"
            return self.call(f"{path}/b/{bucket}/o/{quote(key, safe='')}", b"{}")
        asks = {"uploadType": "multipart"}
        if _CONDITION in asked.headers:
            asks["ifGenerationMatch"] = asked.headers[_CONDITION]
        path = f"/upload/storage/v1/b/{bucket}/o?{urlencode(asks)}"
        named = json.dumps({"name": key}).encode()
        parts = (
            _PART % (b"application/json", named),
            _PART % (b"application/octet-stream", body),
        )
        whole = b"".join(parts) + b"--" + _BETWEEN + b"--"
        kind = f"multipart/related; boundary={_BETWEEN.decode()}"
        return self.call(path, whole, kind)

    def make_bucket(self, name):
        """Make a bucket."""
        made = self.call("/storage/v1/b?project=tests", json.dumps({"name": name}))
        assert made[0] == 200

    def call(self, path, body, kind="application/json"):
        """Post to the JSON API; return status, headers and body as the XML API does."""
        asked = HTTPConnection(self.upstream, timeout=30)
        asked.request("POST", path, body, {"Content-Type": kind})
        got = asked.getresponse()
        data = got.read()
        asked.close()
        if got.status >= 400:
            return got.status, [], data
        told = json.loads(data)
        told = told.get("resource", told)
        headers = [("ETag", f'"{told.get("etag", "").strip(chr(34))}"')]
        headers += [("x-goog-generation", str(told.get("generation", 0)))]
        return (
            got.status,
            headers,
            b"<CopyObjectResult><ETag>x</ETag></CopyObjectResult>",
        )
