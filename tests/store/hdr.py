"""HdrHistogram V2 with DEFLATE, 3 significant digits from 1 ns: written from the format's
description, to make and to check histograms without the engine."""

import struct
import zlib

import numpy as np

from dbdyno.model.run import Histograms

_COOKIE = 0x1C849303 | 0x10
_COMPRESSED_COOKIE = 0x1C849304 | 0x10
_HALF = 1024
_LENGTH = 54 * _HALF


def encode(values_ns):
    values = np.asarray(values_ns, dtype=np.int64)
    return _pack(np.bincount(_index(values), minlength=1))


def _index(values):
    bucket = np.maximum(np.frexp(values.astype(np.float64))[1] - 11, 0)
    return bucket * _HALF + (values >> bucket)


def _pack(counts):
    payload = bytearray()
    position = 0
    for index in np.flatnonzero(counts):
        if index > position:
            payload += _leb128(-(int(index) - position))
        payload += _leb128(int(counts[index]))
        position = int(index) + 1
    header = struct.pack(">iiiiqqd", _COOKIE, len(payload), 0, 3, 1, 1 << 62, 1.0)
    packed = zlib.compress(header + bytes(payload))
    return struct.pack(">ii", _COMPRESSED_COOKIE, len(packed)) + packed


def _leb128(number):
    zigzag = (number << 1) ^ (number >> 63)
    packed = bytearray()
    for _ in range(8):
        if zigzag < 0x80:
            packed.append(zigzag)
            return packed
        packed.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    packed.append(zigzag)
    return packed


def counts_of(histogram):
    payload = zlib.decompress(histogram[8:])[40:]
    counts = np.zeros(_LENGTH, dtype=np.int64)
    position = offset = 0
    while offset < len(payload):
        number, offset = _read(payload, offset)
        if number < 0:
            position -= number
        else:
            counts[position] = number
            position += 1
    return counts


def _read(payload, offset):
    zigzag = shift = 0
    while True:
        octet = payload[offset]
        offset += 1
        zigzag |= (octet & 0x7F) << shift
        shift += 7
        if octet < 0x80:
            return (zigzag >> 1) ^ -(zigzag & 1), offset


def _ends(indexes):
    bucket = np.maximum(indexes // _HALF - 1, 0)
    low = (indexes - bucket * _HALF) << bucket
    return low, low + (1 << bucket) - 1


def quantiles(histogram, wanted):
    counts = counts_of(histogram)
    total = counts.sum()
    if not total:
        return [0] * len(wanted)
    reached = np.cumsum(counts)
    ranks = np.maximum(np.ceil(np.array(wanted) * total), 1)
    return _ends(np.searchsorted(reached, ranks))[1].tolist()


def merge(histograms):
    return _pack(sum((counts_of(one) for one in histograms), np.zeros(_LENGTH, dtype=np.int64)))


def bars(histogram):
    counts = counts_of(histogram)
    filled = np.flatnonzero(counts)
    low, high = _ends(filled)
    return np.column_stack([low, high, counts[filled]]).astype("<u8").tobytes()


HISTOGRAMS = Histograms(quantiles, merge, bars)
