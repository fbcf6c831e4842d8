# A DAV server that stands in for a Nextcloud, with what its client asks for beyond DAV.
import json, os, subprocess, sys, threading, time
sys.path.insert(0, os.environ["MODULES"])
from cheroot import wsgi
from wsgidav.dav_error import HTTP_NOT_FOUND, DAVError
from wsgidav.fs_dav_provider import FileResource, FilesystemProvider, FolderResource
from wsgidav.wsgidav_app import WsgiDAVApp
scratch, folder = os.environ["T"], os.environ["M"] + "/cloud"
served, files, own = scratch + "/served", "/remote.php/dav/files/user", "{http://owncloud.org/ns}"
os.mkdir(served), os.mkdir(folder)
class Properties:
    def get_property_value(self, name):
        values = {own + "id": "%08doctest" % self.file_stat.st_ino, own + "fileid": str(self.file_stat.st_ino), own + "size": "0",
                  own + "permissions": "RDNVCK" if self.is_collection else "RDNVW"}
        if name in values: return values[name]
        if not name.startswith("{DAV:}"): raise DAVError(HTTP_NOT_FOUND)
        return super().get_property_value(name)
def etag(paths): return "%x" % (hash(tuple((s.st_ino, s.st_mtime_ns, s.st_size) for s in map(os.stat, paths))) % 2**64)
class Document(Properties, FileResource):
    def get_etag(self): return etag([self._file_path])
    def begin_write(self, *, content_type=None):
        if os.path.exists(self._file_path): os.unlink(self._file_path)  # A new etag within a tick of the clock, too.
        return open(self._file_path, "wb")
    def end_write(self, *, with_errors):
        seconds = self.environ.get("HTTP_X_OC_MTIME")
        if seconds: os.utime(self._file_path, (int(seconds), int(seconds)))
class Folder(Properties, FolderResource):
    def get_etag(self): return etag([self._file_path] + sorted(entry.path for entry in os.scandir(self._file_path)))
    def support_etag(self): return True
class Provider(FilesystemProvider):
    def get_resource_inst(self, path, environ):
        self._count_get_resource_inst += 1
        file = self._loc_to_file_path(path, environ)
        return (Folder if os.path.isdir(file) else Document)(path, environ, file) if os.path.exists(file) else None
def answer(data): return {"ocs": {"meta": {"status": "ok", "statuscode": 100, "message": "OK"}, "data": data}}
answers = {
    "/status.php": {"installed": True, "maintenance": False, "needsDbUpgrade": False, "version": "25.0.4.1",
                    "versionstring": "25.0.4", "edition": "", "productname": "Nextcloud"},
    "capabilities": answer({"version": {"major": 25, "minor": 0, "micro": 4, "string": "25.0.4", "edition": ""},
                            "capabilities": {"core": {"webdav-root": "remote.php/webdav", "pollinterval": 60},
                                             "dav": {"chunking": "1.0"}}}),
    "user": answer({"id": "user", "display-name": "user", "email": None})}
dav = WsgiDAVApp({"provider_mapping": {files: Provider(served)}, "simple_dc": {"user_mapping": {"*": True}}, "verbose": 0,
                  "dir_browser": {"enable": False}, "property_manager": False, "lock_storage": False, "logging": {"enable": False}})
def application(environ, respond):
    path = environ["PATH_INFO"]
    def accepting(status, headers, error=None): return respond(status, headers + [("X-OC-MTime", "accepted")], error)
    if path.startswith(files): return dav(environ, accepting if environ["REQUEST_METHOD"] == "PUT" else respond)
    found = answers.get(path) or path.startswith("/ocs/") and answers.get(path.rsplit("/", 1)[1])
    respond("200 OK" if found else "404 Not Found", [("Content-Type", "application/json")])
    return [json.dumps(found or {}).encode()]
server = wsgi.Server(("127.0.0.1", 0), application)
server.prepare()
threading.Thread(target=server.serve, daemon=True).start()
