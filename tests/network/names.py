"""The resolver of a test: answers questions for IPv4 addresses by UDP."""
import socket


def answer(query, names, silent):
    name, at = [], 12
    while query[at]:
        name.append(query[at + 1 : at + 1 + query[at]].decode())
        at += 1 + query[at]
    kind, end = query[at + 1] << 8 | query[at + 2], at + 5
    name = ".".join(name).lower()
    if name == silent:
        return None
    addresses = names.get(name, []) if kind == 1 else []
    records = b"".join(b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(a) for a in addresses)
    code = 0x80 if name in names else 0x83
    return query[:2] + bytes([0x85, code, 0, 1, 0, len(addresses), 0, 0, 0, 0]) + query[12:end] + records


def serve(address, names, silent=None):
    """Names lead to their addresses; a question for the name `silent` gets no answer. Does not return."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind((address, 53))
        while True:
            query, sender = s.recvfrom(512)
            if reply := answer(query, names, silent):
                s.sendto(reply, sender)
