#!/usr/bin/env python3
"""events.py: what a host does for a tenant, followed by GET /v1/events: order, ids, gaps, other tenants, restarts, and clients that go away, as TAP."""
import http.client, json, os, signal, subprocess, threading

from lib import SLOW, WARDER, Host, front, run_parts, tell, until


class Follower:
    """A client that follows the events until it hangs up."""

    def __init__(self, host, token, after="", header=""):
        self.rows, self.status, self.finished = [], None, False
        self.one = host.connect()
        self.one.settimeout(60 * SLOW)
        self.one.sendall(host.request("GET", "/v1/events" + ("?after=" + after if after else ""), token, more="Last-Event-ID: %s\r\n" % header if header else ""))
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        fields = {}
        try:
            answer = http.client.HTTPResponse(self.one)
            answer.begin()
            self.status = answer.status
            while line := answer.readline():
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name:
                    fields[name] = value
                elif fields:
                    self.rows.append((fields["event"], fields.get("id"), json.loads(fields["data"])))
                    fields = {}
            self.finished = True
        except (OSError, http.client.HTTPException, ValueError):
            pass

    def has(self, count):
        return until(lambda: len(self.rows) >= count, 20)

    def calls(self):
        return [(data["call"], data["status"]) for name, _, data in self.rows if name == "call"]

    def close(self):
        self.one.shutdown(2)
        self.thread.join()
        self.one.close()


def run(host, token, *argv):
    return host.ask("POST", "/v1/run", token, {"argv": list(argv)})[0]


def order():
    host = Host("order")
    token, other = host.tenant("me"), host.tenant("other")
    mine, others = Follower(host, token), Follower(host, other)
    tell(until(lambda: mine.status == 200) and not mine.rows, "a client is connected before there is an event", mine.status)
    run(host, token, "true")
    run(host, token, "sh", "-c", "exit 3")
    _, made, _ = host.ask("POST", "/v1/sandboxes", token, {"timeoutMs": 60000})
    host.ask("GET", "/v1/sandboxes", token)
    host.ask("POST", "/v1/run", token, {"argv": ["true"], "policy": {"version": 1, "nothing": 1}})
    host.ask("DELETE", "/v1/sandboxes/" + made["id"], token)
    mine.has(5)
    tell(mine.calls() == [("run", 200), ("run", 200), ("create", 201), ("run", 400), ("remove", 204)], "each call that does something is an event, in order", mine.rows)
    first, ids = mine.rows[0][2], [row[1] for row in mine.rows]
    tell(first["tenant"] == "me" and first["cause"] == "exit" and first["durationUs"] > 0 and mine.rows[2][2]["sandbox"] == made["id"], "it says what the line of the log says", mine.rows)
    tell(len({one.split("-")[0] for one in ids}) == 1 and [one.split("-")[1] for one in ids] == list("12345"), "the ids count from 1", ids)
    run(host, other, "true")
    others.has(1)
    tell(others.calls() == [("run", 200)] and others.rows[0][2]["tenant"] == "other" and len(mine.rows) == 5, "a tenant gets only its own", (others.rows, mine.rows[5:]))
    for name, more in (("after", {"after": ids[2]}), ("Last-Event-ID", {"header": ids[2]})):
        again = Follower(host, token, **more)
        again.has(2)
        tell([row[1] for row in again.rows] == ids[3:], "a client goes on after the id in " + name, again.rows)
        again.close()
    start = ids[0].split("-")[0]
    for after in ("x", "5", "1-2-3", start + "-1x"):
        status, data, _ = host.ask("GET", "/v1/events?after=" + after, token)
        tell(status == 400 and data["field"] == "after", "after=%s is refused" % after, (status, data))
    ahead = Follower(host, token, after=start + "-99")
    until(lambda: ahead.status)
    run(host, token, "true")
    ahead.has(1)
    tell([row[1] for row in ahead.rows] == [start + "-6"], "an id that was not given yet means the newest event", ahead.rows)
    ahead.close()
    status = host.ask("GET", "/v1/events", "e2b_" + "0" * 40)[0], host.ask("GET", "/v1/events", host.tenant("runner", ("--scopes", "run")))[0]
    tell(status == (401, 403), "a token with the scope read is needed", status)
    short = host.ask("POST", "/v1/sandboxes", token, {"timeoutMs": 1})[1]["id"]
    tell(until(lambda: ("expire", 204) in mine.calls(), 20) and mine.rows[-1][2]["sandbox"] == short, "the end of a sandbox whose time is over is one, too", mine.rows[-2:])
    for one in (mine, others):
        one.close()
    host.end()


def gaps():
    host = Host("gaps")
    token = host.tenant("me", launchesPerSecond=10000)
    bad = json.dumps({"argv": []}).encode()
    for _ in range(300):  # refused calls are events, too, and quick
        host.ask("POST", "/v1/run", token, bad)
    late = Follower(host, token)
    late.has(257)
    numbers = [int(row[1].split("-")[1]) for row in late.rows[1:]]
    tell(late.rows[0][0] == "gap" and late.rows[0][2] == {"restarted": False} and numbers == list(range(45, 301)), "of many events, the newest 256 are left, after a gap", (late.rows[:2], numbers[:3], len(numbers)))
    last = late.rows[-1][1]
    late.close()
    os.kill(front(host), signal.SIGKILL)
    until(lambda: front(host))
    until(lambda: host.ask("GET", "/health")[0] == 204)
    again = Follower(host, token, after=last)
    until(lambda: again.status)
    run(host, token, "true")
    again.has(1)
    tell(again.calls() == [("run", 200)] and again.rows[0][0] == "call", "after the front was replaced, a client goes on without a gap", again.rows)
    host.process.kill()
    again.thread.join()
    host.restart()
    again = Follower(host, token, after=last)
    again.has(1)
    run(host, token, "true")
    again.has(2)
    tell([row[0] for row in again.rows] == ["gap", "call"] and again.rows[0][2] == {"restarted": True} and again.rows[1][1].endswith("-1"), "after the launcher was replaced, a client learns that events are missing", again.rows)
    again.close()
    host.end()


def followers():
    host = Host("followers", connectionsPerTenant=20)
    token = host.tenant("me")
    many = [Follower(host, token) for _ in range(15)]
    tell(until(lambda: all(one.status == 200 for one in many)), "15 clients follow")
    for one in many[:10]:
        one.close()
    tell(until(lambda: run(host, token, "true") == 200) and all(one.has(1) for one in many[10:]), "when ten have hung up, the others still get events")
    more = [Follower(host, token) for _ in range(14)]
    tell(until(lambda: all(one.status == 200 for one in more)), "clients that hung up do not count")
    subprocess.run([WARDER, "tenant", "revoke", "me", "--state", host.state], check=True, capture_output=True)
    tell(until(lambda: sum(one.finished for one in many[10:] + more) == 19, 20), "when a tenant is revoked, its streams end", [one.finished for one in many + more])
    ended = Follower(host, host.tenant("me"))
    until(lambda: ended.status)
    tell(ended.status == 200 and not ended.rows, "a new tenant of that name gets none of the old events", ended.rows)
    ended.close()
    host.end()


run_parts([order, gaps, followers])
