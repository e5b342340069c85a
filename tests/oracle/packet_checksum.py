"""The checksums of a packet and of the metadata (logformat/FORMAT.md, 3.4 and 5)."""


def crc_of_byte(rest):
    for _ in range(8):
        rest = rest >> 1 ^ (0x82f63b78 if rest & 1 else 0)
    return rest


CRC_TABLE = [crc_of_byte(byte) for byte in range(256)]


def crc32c(data):
    """RFC 3720, B.4."""
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xff]
    return crc ^ 0xffffffff


def text_checksum(text):
    """FNV-1a 64 of bytes, as the metadata has it: signed."""
    value = 0xcbf29ce484222325
    for byte in text:
        value = (value ^ byte) * 0x100000001b3 & (1 << 64) - 1
    return value - (1 << 64 if value >> 63 else 0)
