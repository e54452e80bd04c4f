"""A server that speaks as much of NATS as a worker needs, and says what a test wants: for moments that a real server has by chance only."""
import json, socketserver, threading

INFO = {"server_id": "pretended", "version": "2.9.10", "proto": 1, "headers": True, "jetstream": True, "max_payload": 1 << 20}


def consumer(**more):
    pair = {"consumer_seq": 0, "stream_seq": 0}
    return dict({"stream_name": "WARDER_REQUESTS", "name": "workers", "created": "2026-01-01T00:00:00Z", "delivered": pair, "ack_floor": pair,
                 "config": {"durable_name": "workers", "ack_policy": "explicit", "ack_wait": 2 * 10 ** 9, "deliver_policy": "all", "replay_policy": "instant", "max_deliver": -1}}, **more)


def refused(code, text):
    return {"error": {"code": 400, "err_code": code, "description": text}}


class Pretended:
    def __init__(self, answers):
        """answers: by the end of a subject below $JS.API, what is answered: one document after the other, and the last one again and again."""
        self.answers, self.asked, self.lock = {end: list(rows) for end, rows in answers.items()}, [], threading.Lock()
        outer = self

        class Peer(socketserver.StreamRequestHandler):
            def handle(self):
                outer.serve(self.rfile, self.wfile)

        class Threads(socketserver.ThreadingTCPServer):
            daemon_threads = True
        self.threads = Threads(("127.0.0.1", 0), Peer)
        self.url = "nats://127.0.0.1:%d" % self.threads.server_address[1]
        threading.Thread(target=self.threads.serve_forever, daemon=True).start()

    def end(self):
        self.threads.shutdown()
        self.threads.server_close()

    def count(self, end):
        """How often it was asked for a subject that ends so."""
        with self.lock:
            return sum(one.endswith(end) for one in self.asked)

    def document(self, subject):
        with self.lock:
            self.asked.append(subject)
            for end, rows in self.answers.items():
                if subject.endswith(end):
                    return rows.pop(0) if len(rows) > 1 else rows[0]
        name = subject.rsplit(".", 1)[-1]
        return {"created": "2026-01-01T00:00:00Z", "config": {"name": name, "retention": "workqueue", "storage": "file"},
                "state": {"messages": 0, "bytes": 0, "first_seq": 1, "last_seq": 0, "consumer_count": 1}} if ".STREAM.INFO." in subject else None

    def serve(self, lines, to):
        subscribed = {}
        to.write(b"INFO %s\r\n" % json.dumps(INFO).encode())
        try:
            for line in lines:
                words = line.decode().split()
                if words[0] == "PING":
                    to.write(b"PONG\r\n")
                elif words[0] == "SUB":
                    subscribed[words[-1]] = words[1]
                elif words[0] in ("PUB", "HPUB"):
                    lines.read(int(words[-1]) + 2)
                    document = self.document(words[1])
                    number = next((one for one, subject in subscribed.items() if words[2].startswith(subject.rstrip("*"))), None)
                    if document is not None and number:
                        text = json.dumps(document).encode()
                        to.write(b"MSG %s %s %d\r\n%s\r\n" % (words[2].encode(), number.encode(), len(text), text))
        except OSError:
            pass
