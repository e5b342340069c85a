"""A cgroup with a CPU quota, in v1 or v2, and what the kernel says of it."""
import pathlib


def mounts(kind, option=None):
    with open('/proc/self/mounts', encoding='utf-8') as file:
        for line in file:
            fields = line.split()
            if fields[2] == kind and (option is None or
                                      option in fields[3].split(',')):
                yield pathlib.Path(fields[1])


class CpuQuota:
    """It gets a CPU at once, before other programs."""

    def __init__(self, name, quota_us, period_us):
        """Raises LookupError: no hierarchy has the cpu controller."""
        v2 = [mount for mount in mounts('cgroup2') if 'cpu' in (
            mount / 'cgroup.subtree_control').read_text().split()]
        mount = next(iter(v2 or mounts('cgroup', 'cpu')), None)
        if mount is None:
            raise LookupError('no cgroup hierarchy with the cpu controller')
        self.folder, self.is_v2 = mount / name, bool(v2)
        self.folder.mkdir()
        self.set('cpu.weight' if v2 else 'cpu.shares',
                 10000 if v2 else 262144)
        self.limit(quota_us, period_us)

    def limit(self, quota_us, period_us):
        if self.is_v2:
            self.set('cpu.max', f'{quota_us} {period_us}')
        else:
            self.set('cpu.cfs_period_us', period_us)
            self.set('cpu.cfs_quota_us', quota_us)

    def set(self, file, value):
        (self.folder / file).write_text(str(value))

    def remove(self):
        self.folder.rmdir()

    def stat(self):
        """Throttled time in ns, and how often."""
        values = dict(line.split() for line in (
            self.folder / 'cpu.stat').read_text().splitlines())
        time = values.get('throttled_time', values.get('throttled_usec'))
        return int(time) * (1000 if self.is_v2 else 1), int(values['nr_throttled'])
