"""The face inside a Jupyter server: what is stored, with no kernel or a busy one.

The rule: it reads, and records decisions of people. Kernels never import it, and it
never loads a stored value.
"""

from typing import Any

from nbresume.ui.server.handlers import routes
from nbresume.ui.server.numbers import watch


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    """Return what the server looks for in an extension's module."""
    return [{"module": "nbresume.ui.server"}]


def _load_jupyter_server_extension(server_app: Any) -> None:
    """Add the routes, and the numbers on its metrics page, to a server that starts."""
    web_app = server_app.web_app
    numbers = watch(server_app)
    web_app.add_handlers(".*$", routes(web_app.settings["base_url"], numbers))
