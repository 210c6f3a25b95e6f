"""Reads native traces (rank-N.mgt) of the format versions 1 and 2, from docs/trace_format.md alone.

  native_trace.py FILE...
"""

import collections
import struct
import sys

MASK = (1 << 64) - 1
MASK32 = (1 << 32) - 1
PAGE = 4096
FILE_HEADER = 4096
CHUNK_HEADER = 128
CHUNK_MAGIC = b"CHNK"
CALLS, DEFINITIONS, ANNOTATIONS, FREE = 1, 2, 3, 4
REGION = 2  # kind of a definition
DURATION, REPEATED, UNCERTAIN = 17, 60, 67  # kinds of facts
NO_COMMUNICATOR = 0xFFFF
K0 = 0x9E3779B97F4A7C15

Header = collections.namedtuple("Header", "version rank size end_state losses")
Region = collections.namedtuple("Region", "id name role paradigm group")
Chunk = collections.namedtuple("Chunk", "offset size kind location sequence base dropped packed calls words")

# Words of a record by the kind of its folded fact. The page lists no kinds; these were seen: sends, receives, collectives and synchronisation
# of windows have 4, what goes both ways 5.
CALL_WORDS = {0: 2, **dict.fromkeys([1, 2, 3, 4, 10, 20, 21, 22, *range(30, 38)], 4), 18: 5, 23: 5}
FACT_WORDS = {0xFFE0: 1, 0xFFE1: 3, 0xFFE2: 5, 0xFFE3: 2}
NEW_BASE = 0xFFE3


class Damage(Exception):
    """What is at a place in the file is no chunk as the format describes it."""


# Packed chunks


def step(value, word):
    """A sum of the checksum, changed by a word."""
    value = (value ^ word) * K0 & MASK
    return (value << 29 | value >> 35) & MASK


def checksum(header, packed):
    """Of a packed chunk: its header of 128 bytes and the packed bytes."""
    content = header[:104] + bytes(8) + header[112:] + packed + bytes(-len(packed) % 32)
    words = struct.unpack(f"<{len(content) // 8}Q", content)
    result = 0
    for i in range(4):
        value = i + 1
        for word in words[i::4]:
            value = step(value, word)
        result = step(result, value)
    return result


class Entry:
    """A record that was seen, and what followed it."""

    def __init__(self, fields, shape):
        self.fields, self.strides, self.shape, self.followers = fields, [0] * 12, shape, [0] * 4

    def predicted(self):
        return [field + stride & MASK32 for field, stride in zip(self.fields, self.strides)]


def small(difference):
    """A difference modulo 2^32, if it is from -1024 to 1023; else 0."""
    return difference if (difference + 1024 & MASK32) < 2048 else 0


class Predictor:
    """Predicts shape and fields of the next record of a chunk from those before it."""

    def __init__(self):
        self.entries = [Entry([0] * 12, 0) for _ in range(256)]
        self.last = self.newest = 0

    def confirm(self, number, fields):
        self.entries[number].fields, self.last = fields, number

    def correct(self, number, fields):
        entry, before = self.entries[number], self.entries[self.last]
        entry.strides = [small(field - old & MASK32) for field, old in zip(fields, entry.fields)]
        entry.fields = fields
        if number not in before.followers:
            before.followers = [number] + before.followers[:3]
        self.last = number

    def add(self, fields, shape):
        self.newest = self.newest % 255 + 1
        self.entries[self.newest] = Entry(fields, shape)
        before = self.entries[self.last]
        before.followers = [self.newest] + before.followers[:3]
        self.last = self.newest


class Packed:
    """The bytes of a packed chunk, read from the front."""

    def __init__(self, content):
        self.content, self.place = content, 0

    def number(self, size):
        """Unsigned, of so many bytes."""
        begin, self.place = self.place, self.place + size
        if self.place > len(self.content):
            raise Damage("packed bytes end too early")
        return int.from_bytes(self.content[begin:self.place], "little")

    def difference(self, code):
        """Signed, in zigzag form."""
        value = self.number((0, 1, 2, 4)[code])
        return value >> 1 ^ -(value & 1)

    def record(self, predictor, end):
        """The words of the next record, and the new end of the last record with a time."""
        head = self.number(1)
        form = head >> 4
        if form > 11:
            raise Damage("unknown form of a record")
        number = predictor.entries[predictor.last].followers[form & 3] if form < 8 else self.number(1)
        entry = predictor.entries[number]
        shape = number if form == 11 else entry.shape
        kind, length = shape >> 4, shape & 15
        if kind > 2 or not 1 <= length <= 5:
            raise Damage("unknown shape of a record")
        codes = [0] * 12 if form < 4 or form == 8 else self.size_codes(kind, length)
        time = end + self.number(1 << (head & 3)) & MASK if kind else 0
        duration = self.number((head >> 2 & 3) + 1) if kind == 2 else 0
        fields = [0] * 12 if form == 11 else entry.fields if form == 10 else entry.predicted()
        fields = [field + self.difference(code) & MASK32 for field, code in zip(fields, codes)]
        if form < 4:
            predictor.confirm(number, fields)
        elif form < 10:
            predictor.correct(number, fields)
        else:
            predictor.add(fields, shape)
        words = [fields[2 * i] | fields[2 * i + 1] << 32 for i in range(length)]
        if kind:
            words[0] |= time << 16 & MASK
            end = time + duration & MASK
        if kind == 2 and length > 1:
            words[1] |= duration
        return words, end

    def size_codes(self, kind, length):
        """How many bytes the difference of each field has, as codes."""
        places = [i for i in range(2 * length) if kind != 2 or i not in (1, 2)]
        stored = self.number((len(places) + 3) // 4)
        if stored >> 2 * len(places):
            raise Damage("a size of a field that the record does not have")
        codes = [0] * 12
        for k, place in enumerate(places):
            codes[place] = stored >> 2 * k & 3
        return codes


def unpack(content, count):
    """The words of a packed chunk."""
    packed, predictor, words, end = Packed(content), Predictor(), [], 0
    while len(words) < count:
        record, end = packed.record(predictor, end)
        words += record
    if len(words) != count or packed.place != len(content):
        raise Damage("a packed chunk does not end where it should")
    return words


# Chunks


def chunk_at(data, offset):
    """The chunk that begins there; None if no chunk does. Raises Damage for a packed one that is not what it was."""
    if data[offset:offset + 4] != CHUNK_MAGIC or offset + CHUNK_HEADER > len(data):
        return None
    size, used, base, dropped = struct.unpack_from("<IQQQ", data, offset + 4)
    kind, location, sequence, packed = struct.unpack_from("<4I", data, offset + 64)
    if size % PAGE or not size or used < CHUNK_HEADER or used > size or offset + used > len(data) or not CALLS <= kind <= FREE:
        return None
    content, calls = data[offset + CHUNK_HEADER:offset + used], 0
    if packed and kind != FREE:
        stored, calls = struct.unpack_from("<QQ", data, offset + 104)
        if checksum(data[offset:offset + CHUNK_HEADER], content) != stored:
            raise Damage("checksum")
        words = unpack(content, packed)
    else:
        words = struct.unpack(f"<{len(content) // 8}Q", content[:len(content) // 8 * 8])
    return Chunk(offset, size, kind, location, sequence, base, dropped, packed, calls, words)


def chunks_and_damage(data):
    """All chunks of a file in its order, and the damaged places between them, as (offset, bytes)."""
    chunks, damage, offset, begin = [], [], FILE_HEADER, None
    while offset < len(data):
        try:
            chunk = chunk_at(data, offset)
        except Damage:
            chunk = None
        if chunk:
            chunks.append(chunk)
            begin = None
        elif any(data[offset:offset + PAGE]):
            begin = offset if begin is None else begin
            if damage and damage[-1][0] == begin:
                damage.pop()
            damage.append((begin, offset + PAGE - begin))
        offset += chunk.size if chunk else PAGE
    return chunks, damage


def without_copies(chunks):
    """Of chunks with the same number the one with the most words; ordered by location and number."""
    best = {}
    for chunk in chunks:
        key = (chunk.location, chunk.sequence)
        if key not in best or len(chunk.words) > len(best[key].words):
            best[key] = chunk
    return [best[key] for key in sorted(best)]


# Definitions


def string_at(payload, place):
    """A string with its length in 32 bits before it, and the place behind it."""
    end = place + 4 + int.from_bytes(payload[place:place + 4], "little")
    return payload[place + 4:end].decode("utf-8", "replace"), end


def region_of(payload):
    """A region's definition. The page does not say how the payload is laid out; this is how the samples look."""
    number, role, paradigm, _operation = struct.unpack_from("<HBBB", payload)
    name, place = string_at(payload, 5)
    return Region(number, name, role, paradigm, string_at(payload, place)[0])


def definitions(words):
    """(kind, payload) of the definitions in a chunk."""
    place = 0
    while place < len(words) and words[place]:
        kind, size = words[place] & MASK32, words[place] >> 32
        end = place + 1 + (size + 7) // 8
        yield kind, struct.pack(f"<{len(words[place + 1:end])}Q", *words[place + 1:end])[:size]
        place = end


# Calls


class Call:
    """A call record with what its facts add."""

    def __init__(self, region, entry, duration, communicator, kind):
        self.region, self.entry, self.duration, self.communicator, self.kind, self.repeated = region, entry, duration, communicator, kind, 1
        self.uncertain = 0

    def add(self, words):
        """A fact that follows the record."""
        kind = words[0] >> 16 & 0xFF
        if kind == REPEATED:
            self.repeated = words[0] >> 32
        if kind == DURATION:
            self.duration = words[2] & (1 << 48) - 1
        if kind == UNCERTAIN:
            self.uncertain = words[2] & (1 << 48) - 1


def signed_time(word):
    """Bits 16 to 63."""
    time = word >> 16
    return time - (1 << 48) if time >> 47 else time


def calls_of(chunks):
    """The calls of a location's chunks, in order of return. Facts of a call may be in the chunk after its own; if that is missing, they are
    lost, as are those whose call is missing."""
    call, sequence = None, None
    for chunk in chunks:
        if call and chunk.sequence != sequence + 1:
            yield call
            call = None
        words, base, place, sequence = chunk.words, chunk.base, 0, chunk.sequence
        while place < len(words):
            code, begin = words[place] & 0xFFFF, place
            if code in FACT_WORDS:
                place += FACT_WORDS[code]
                if code == NEW_BASE:
                    base = words[begin + 1]
                elif call:
                    call.add(words[begin:place])
                continue
            if call:
                yield call
            second = words[place + 1]
            kind, communicator = second >> 48 & 0xFF, second >> 32 & 0xFFFF
            if kind not in CALL_WORDS:
                raise ValueError(f"a record with a folded fact of kind {kind} in the chunk at {chunk.offset}: its length is not known")
            place += CALL_WORDS[kind]
            call = Call(code, base + signed_time(words[begin]), second & MASK32, None if communicator == NO_COMMUNICATOR else communicator, kind)
    if call:
        yield call


# Files


def read_header(data):
    """The header of a file."""
    version, _, rank, size = struct.unpack_from("<4I", data, 8)
    return Header(version, rank, size, struct.unpack_from("<I", data, 40)[0], struct.unpack_from("<64Q", data, 176))


class Trace:
    """One file. `damage` has the damaged places as (offset, bytes), `chunks` all chunks of the file in its order."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        if data[:8] != b"MGSCOPE\n" or len(data) < FILE_HEADER:
            raise ValueError(f"{path} is no native trace")
        self.header = read_header(data)
        self.chunks, self.damage = chunks_and_damage(data)
        self.definitions = [definition for chunk in self.chunks if chunk.kind == DEFINITIONS for definition in definitions(chunk.words)]
        self.regions = {region.id: region for region in (region_of(payload) for kind, payload in self.definitions if kind == REGION)}
        self.call_chunks = without_copies([chunk for chunk in self.chunks if chunk.kind == CALLS])

    def locations(self):
        """The threads that have calls."""
        return sorted({chunk.location for chunk in self.call_chunks})

    def calls(self, location):
        """The calls of a thread in the order in which they returned."""
        return calls_of([chunk for chunk in self.call_chunks if chunk.location == location])

    def name(self, region):
        """Of a region, by its id."""
        return self.regions[region].name if region in self.regions else f"region {region}"

    def counts(self):
        """How many calls there were by name."""
        counts = collections.Counter()
        for location in self.locations():
            for call in self.calls(location):
                counts[self.name(call.region)] += call.repeated
        return counts


def main(paths):
    """Prints what is in the files."""
    for path in paths:
        trace = Trace(path)
        counts = trace.counts()
        packed = sum(chunk.packed != 0 for chunk in trace.chunks)
        words = sum(len(chunk.words) for chunk in trace.chunks)
        print(f"{path}: version {trace.header.version}, {len(trace.chunks)} chunks, {packed} packed, {words} words, {sum(counts.values())} calls, "
              f"{len(trace.damage)} damaged")
        for name, count in sorted(counts.items()):
            print(f"  {name} {count}")


if __name__ == "__main__":
    main(sys.argv[1:])
