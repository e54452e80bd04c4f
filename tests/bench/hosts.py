"""An execution host of a measurement's own, and a client that keeps its connection."""
import http.client, json, os, signal, subprocess, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../lib"))
import tenant_documents

WARDER = os.path.realpath(os.path.join(os.environ.get("BUILD", "build"), "warder"))


class Client:
    def __init__(self, address, token):
        self.token, self.connection = token, http.client.HTTPConnection(address)

    def ask(self, method, path, body=None):
        self.connection.request(method, path, json.dumps(body) if isinstance(body, (dict, list)) else body, {"X-API-Key": self.token})
        answer = self.connection.getresponse()
        data = answer.read()
        if answer.status >= 400:
            sys.exit("%s: %s %s: %d %s" % (os.path.basename(sys.argv[0]), method, path, answer.status, data[:300]))
        return json.loads(data) if answer.headers["Content-Type"] == "application/json" else data


class Host:
    """`warder serve --listen` on loopback, with tenants that nothing limits. Its sandboxes end with it."""

    def __init__(self, place, names=("bench",), flags=()):
        self.state, self.names = place + "/state", names
        self.tokens = [self.tenant(name) for name in names]
        self.process = subprocess.Popen([WARDER, "serve", "--listen", "127.0.0.1:0", "--state", self.state, *flags], stdout=subprocess.PIPE)
        self.url = self.process.stdout.readline().decode().split()[1]

    def tenant(self, name):
        token = subprocess.run([WARDER, "tenant", "add", name, "--state", self.state], check=True, capture_output=True, text=True).stdout.strip()
        tenant_documents.change(self.state, name, {"launchesPerSecond": 100000, "memoryBytes": 1 << 40, "cpuMilli": 10**7, "sandboxes": 1000})
        return token

    def client(self, who=0):
        return Client(self.url[7:], self.tokens[who])

    def end(self):
        for name in self.names:  # their sandboxes end with them
            subprocess.run([WARDER, "tenant", "revoke", name, "--state", self.state], capture_output=True)
        for _ in range(200):
            if not os.listdir(self.state + "/sandboxes"):
                break
            time.sleep(0.05)
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
