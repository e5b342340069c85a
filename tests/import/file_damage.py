"""Damage to the bytes of a file: data is a bytearray, dice a random.Random."""


def flip(data, dice):
    for _ in range(dice.randint(1, 4)):
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)


def cut(data, dice):
    del data[dice.randrange(len(data)):]


def zero(data, dice):
    begin = dice.randrange(len(data))
    end = min(len(data), begin + dice.choice((8, 64, 4096)))
    data[begin:end] = bytes(end - begin)


def splice(data, dice):
    begin = dice.randrange(len(data))
    data[begin:begin] = data[:dice.randint(1, 512)]


def maximize(data, dice):
    """The largest possible length or size."""
    begin = dice.randrange(max(1, len(data) - 8))
    data[begin:begin + 8] = b'\xff' * min(8, len(data) - begin)
