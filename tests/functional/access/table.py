"""Who may use which route: one row for each case of a rule and method, one word for each kind of caller."""

from dataclasses import dataclass
from typing import Any

API = "/api/v1"
SECRET = "Traces of a hidden workload"
"""The name of what is in the shared workspace: no answer to one who does not belong there may hold it."""

PERSONS = ("stranger", "viewer", "editor", "owner", "admin")
"""Tokens at the API, sessions at the pages. All but the stranger read the shared workspace."""
READER = "read-only token"
"""The owner's; at the pages a token is no credential."""
OUTSIDERS = (
    "nobody",
    "revoked token",
    "expired token",
    "disabled person's token",
    "signed-out session",
    "expired session",
    "disabled person's session",
)
"""They are all treated as nobody."""
CALLERS = (*OUTSIDERS, *PERSONS, READER)

YES, VAIN, DOOR, HIDDEN, FORBIDDEN = "yes", "vain", "door", "hidden", "forbidden"
"""What comes of a request: it is done; it is answered as if, and nothing was done; who are you; 404; 403."""


@dataclass(frozen=True)
class Access:
    """What each caller gets: nobody, the persons in their order, the read-only token (at the pages: as nobody).

    Each is one of the words above, or a status.
    """

    words: str

    def of(self, caller: str) -> str:
        """The word for this caller."""
        words = self.words.split()
        return words[0] if caller in OUTSIDERS else words[("nobody", *PERSONS, READER).index(caller)]


@dataclass(frozen=True)
class Row:
    """One case of a route.

    Args:
        status: of the answer where it is done.
        path: of the request, with `{things}` in it; else each argument of the rule is the thing of its name.
        body: a form for the pages, JSON for the API, bytes for the store's door; texts in it may name things too.
        changes: whether something is different afterwards.
        ends_sessions: whether the person must sign in again.
    """

    method: str
    rule: str
    access: Access
    status: int = 200
    path: str = ""
    body: Any = None
    changes: bool = True
    ends_sessions: bool = False

    def __str__(self) -> str:
        case = f" ({self.path})" if self.path else ""
        return f"{self.method} {self.rule}{case}"

    @property
    def is_api(self) -> bool:
        """Whether bearer tokens count, and errors are JSON."""
        return self.rule.startswith(API)

    @property
    def is_form(self) -> bool:
        """Whether a browser's session may change something by this, so that its CSRF token must come along."""
        return self.method != "GET" and not isinstance(self.body, bytes)


#                  nobody  stranger  viewer     editor     owner   admin   read-only token
EVERYONE = Access("yes     yes       yes        yes        yes     yes     yes")
NO_ONE = Access("forbidden forbidden forbidden  forbidden forbidden forbidden forbidden")
# -- the API
SIGNED_IN = Access("door   yes       yes        yes        yes     yes     yes")
READ = Access("door        hidden    yes        yes        yes     yes     yes")
CHANGE = Access("door      hidden    forbidden  yes        yes     yes     forbidden")
OPEN = Access("door        400       400        yes        yes     yes     forbidden")
PROMOTE = Access("door     hidden    400        yes        yes     yes     forbidden")
MAKE = Access("door        yes       yes        yes        yes     yes     forbidden")
MANAGE = Access("door      hidden    forbidden  forbidden  yes     yes     forbidden")
# -- the pages
AT_DOOR = Access("yes      302       302        302        302     302     yes")
PAGE = Access("door        yes       yes        yes        yes     yes     door")
READ_PAGE = Access("door   hidden    yes        yes        yes     yes     door")
EDIT = Access("door        hidden    forbidden  yes        yes     yes     door")
PUBLISH = Access("door     hidden    400        yes        yes     yes     door")
SELECT = Access("door      vain      yes        yes        yes     yes     door")
EDIT_ALL = Access("door    vain      vain       yes        yes     yes     door")
MEMBERS = Access("door     hidden    forbidden  forbidden  yes     yes     door")
OWN_TOKEN = Access("door   hidden    hidden     hidden     yes     hidden  door")
ADMIN = Access("door       hidden    hidden     hidden     hidden  yes     door")

_SENT = [{"name": "a", "parts": [{"partNumber": 1}]}]
_UPLOAD = {"name": SECRET, "workspaceId": "{workspace_id}", "files": [{"name": "a", "size": 1, "role": "supporting"}]}
_MAP = {"name": SECRET, "workspaceId": "{workspace_id}", "files": [{"name": "a", "size": 1}]}
_PASSWORDS = {"new": "correct horse battery", "again": "correct horse battery"}

TABLE = (
    # -- open to everyone
    Row("GET", "/healthz", EVERYONE),
    Row("GET", "/readyz", EVERYONE),
    Row("GET", "/metrics", EVERYONE),
    Row("GET", "/static/<path:filename>", EVERYONE, path="/static/css/app.css"),
    Row("GET", "/bootstrap/static/<path:filename>", EVERYONE, path="/bootstrap/static/css/bootstrap.min.css"),
    Row(
        "GET",
        '/docs/swagger-ui/<any("swagger-ui.css", "swagger-ui-bundle.js"):name>',
        EVERYONE,
        path="/docs/swagger-ui/swagger-ui.css",
    ),
    Row("GET", "/docs/api", EVERYONE),
    Row("GET", "/help", EVERYONE),
    Row("GET", "/help/<name>", EVERYONE, path="/help/roles"),
    Row("GET", "/login", AT_DOOR),
    Row("POST", "/login", EVERYONE, 400, changes=False),
    Row("GET", "/login/<secret>", EVERYONE),
    Row("POST", "/login/<secret>", EVERYONE, 303),
    Row("GET", f"{API}/openapi.json", EVERYONE),
    # -- the URL is the permission
    Row("GET", "/archives/<token>", EVERYONE, path="{archive_path}"),
    Row("GET", "/archives/<token>", NO_ONE, path="{archive_path}x"),
    Row("GET", "/objects/files/<token>/<name>", EVERYONE, path="{file_path}"),
    Row("GET", "/objects/files/<token>/<name>", NO_ONE, path="{file_path}x"),
    Row("PUT", "/objects/parts/<token>/<int:number>", EVERYONE, path="{part_path}", body=b"x", changes=False),
    Row("PUT", "/objects/parts/<token>/<int:number>", NO_ONE, path="/objects/parts/made.up/1", body=b"x"),
    # -- the API
    Row("GET", f"{API}/workspaces", SIGNED_IN),
    Row("POST", f"{API}/workspaces", MAKE, 201, body={"name": "New"}),
    Row("GET", f"{API}/workspaces/<workspace_id>/members", READ),
    Row("PUT", f"{API}/workspaces/<workspace_id>/members/<path:email>", MANAGE, 204, body={"role": "editor"}),
    Row("DELETE", f"{API}/workspaces/<workspace_id>/members/<path:email>", MANAGE, 204),
    Row("GET", f"{API}/tracesets", SIGNED_IN),
    Row("GET", f"{API}/tracesets/<traceset_id>", READ),
    Row("GET", f"{API}/tracesets/<traceset_id>/download", READ),
    Row("GET", f"{API}/tracesets/<traceset_id>/events", READ),
    Row("POST", f"{API}/tracesets/<traceset_id>/validate", READ, body={}),
    Row("POST", f"{API}/tracesets/<traceset_id>/promote", PROMOTE, 201, body={"workspaceId": "{other_id}"}),
    Row("DELETE", f"{API}/tracesets/<traceset_id>", CHANGE, 204),
    Row("POST", f"{API}/tracesets/upload-url", OPEN, body=_UPLOAD),
    Row("GET", f"{API}/tracesets/upload-url/<upload_id>", READ),
    Row("DELETE", f"{API}/tracesets/upload-url/<upload_id>", CHANGE, 204),
    Row(
        "POST",
        f"{API}/tracesets/upload-url/complete",
        CHANGE,
        201,
        body={"uploadId": "{upload_id}", "files": _SENT},
    ),
    Row("GET", f"{API}/mapping-files", SIGNED_IN),
    Row("GET", f"{API}/mapping-files/<mapping_id>", READ),
    Row("GET", f"{API}/mapping-files/<mapping_id>/download", READ),
    Row("DELETE", f"{API}/mapping-files/<mapping_id>", CHANGE, 204),
    Row("POST", f"{API}/mapping-files/upload-url", OPEN, body=_MAP),
    Row("GET", f"{API}/mapping-files/upload-url/<upload_id>", READ, path=f"{API}/mapping-files/upload-url/{{map_id}}"),
    Row(
        "DELETE",
        f"{API}/mapping-files/upload-url/<upload_id>",
        CHANGE,
        204,
        path=f"{API}/mapping-files/upload-url/{{map_id}}",
    ),
    Row(
        "POST",
        f"{API}/mapping-files/upload-url/complete",
        CHANGE,
        201,
        body={"uploadId": "{map_id}", "files": _SENT},
    ),
    # -- the pages of everybody who is signed in
    Row("GET", "/", PAGE),
    Row("POST", "/logout", PAGE, 303, ends_sessions=True),
    Row("POST", "/logout-everywhere", PAGE, 303, ends_sessions=True),
    Row("GET", "/account", PAGE),
    Row("POST", "/account/password", PAGE, 303, body=_PASSWORDS, ends_sessions=True),
    Row("POST", "/account/tokens", PAGE, body={"name": "new", "days": "30"}),
    Row("POST", "/account/tokens/<int:token_id>/revoke", OWN_TOKEN, 303),
    Row("GET", "/workspaces", PAGE),
    Row("POST", "/workspaces", PAGE, 303, body={"name": "New"}),
    Row("GET", "/tracesets", PAGE),
    Row("GET", "/tracesets/upload", PAGE),
    Row("GET", "/tracesets/suggestions", PAGE),
    Row("GET", "/tracesets/upload/token", PAGE),
    # -- the pages of a workspace and of what is in it
    Row("GET", "/workspaces/<workspace_id>", READ_PAGE),
    Row(
        "POST",
        "/workspaces/<workspace_id>/members",
        MEMBERS,
        303,
        body={"email": "{newcomer}", "role": "viewer"},
    ),
    Row("POST", "/workspaces/<workspace_id>/members/<path:email>/remove", MEMBERS, 303),
    Row("GET", "/uploads/<upload_id>/progress", READ_PAGE),
    Row("GET", "/tracesets/<traceset_id>", READ_PAGE),
    Row("GET", "/tracesets/<traceset_id>/download", READ_PAGE, 302),
    Row("GET", "/tracesets/<traceset_id>/events", READ_PAGE),
    Row("POST", "/tracesets/<traceset_id>/validate", READ_PAGE, 303),
    Row("GET", "/tracesets/<traceset_id>/edit", EDIT),
    Row("POST", "/tracesets/<traceset_id>/edit", EDIT, 303, body={"name": "Renamed"}),
    Row("GET", "/tracesets/<traceset_id>/delete", EDIT),
    Row("POST", "/tracesets/<traceset_id>/delete", EDIT, 303),
    Row("GET", "/tracesets/<traceset_id>/promote", READ_PAGE),
    Row(
        "POST",
        "/tracesets/<traceset_id>/promote",
        PUBLISH,
        303,
        body={"workspace_id": "{other_id}", "name": SECRET},
    ),
    Row("POST", "/tracesets/selected", SELECT, body={"id": "{traceset_id}"}, changes=False),
    Row("POST", "/tracesets/selected/delete", EDIT_ALL, 303, body={"id": "{traceset_id}"}),
    Row("POST", "/tracesets/selected/tag", EDIT_ALL, 303, body={"id": "{traceset_id}", "tags": "new"}),
    Row(
        "POST",
        "/tracesets/selected/promote",
        EDIT_ALL,
        303,
        body={"id": "{traceset_id}", "workspace_id": "{other_id}"},
    ),
    # -- the administration
    Row("GET", "/admin/people", ADMIN),
    Row("POST", "/admin/people", ADMIN, body={"email": "{nobody_yet}"}),
    Row("POST", "/admin/people/<int:user_id>/link", ADMIN),
    Row("POST", "/admin/people/<int:user_id>/disable", ADMIN, 303),
    Row("POST", "/admin/people/<int:user_id>/enable", ADMIN, 303),
    Row("POST", "/admin/people/<int:user_id>/admin", ADMIN, 303),
    Row("POST", "/admin/people/<int:user_id>/no-admin", ADMIN, 303),
    Row("GET", "/admin/upload-sessions", ADMIN),
    Row("GET", "/admin/upload-sessions/<upload_id>", ADMIN),
    Row("POST", "/admin/upload-sessions/<upload_id>/abort", ADMIN, 303),
    Row(
        "POST",
        "/admin/upload-sessions/<upload_id>/release-claim",
        ADMIN,
        303,
        path="/admin/upload-sessions/{claimed_id}/release-claim",
    ),
    Row("POST", "/admin/sweep", ADMIN, 303),
    Row("GET", "/admin/library", ADMIN),
    Row("GET", "/admin/settings", ADMIN),
    Row("GET", "/admin/health", ADMIN),
)
