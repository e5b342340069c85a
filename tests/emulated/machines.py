"""The emulated machines: their names in Debian, and QEMU's options for them.

Measured with QEMU 7.2. `-icount shift=1`: an instruction takes 2 ns of the
guest's time, so its counts do not depend on the host.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Machine:
    name: str  # Debian's name of the architecture
    triple: str
    kernel_package: str
    qemu: tuple[str, ...]
    qemu_package: str
    console: str
    loader: str  # path of the dynamic linker
    # QEMU's arm64 counts the instructions of all CPUs on each of them.
    cpu_count: int
    # Raw codes of the same events as the names.
    cycles: str
    instructions: str
    # CPUs of the same architecture that the tests boot: name -> -cpu.
    cpus: dict[str, str]


MACHINES = {
    machine.name: machine
    for machine in (
        Machine(
            name="arm64",
            triple="aarch64-linux-gnu",
            kernel_package="linux-image-arm64",
            qemu=("qemu-system-aarch64", "-M", "virt", "-icount", "shift=1"),
            qemu_package="qemu-system-arm",
            console="ttyAMA0",
            loader="lib/ld-linux-aarch64.so.1",
            cpu_count=1,
            cycles="r11",
            instructions="r08",
            # max: PMUv3.5, counters of 64 bits; cortex-a57: PMUv3, of 32.
            cpus={"max": "max,pmu=on", "cortex-a57": "cortex-a57,pmu=on"},
        ),
        Machine(
            name="ppc64el",
            triple="powerpc64le-linux-gnu",
            kernel_package="linux-image-powerpc64le",
            qemu=(
                "qemu-system-ppc64",
                "-M",
                "pseries,cap-cfpc=broken,cap-sbbc=broken,cap-ibs=broken,"
                "cap-ccf-assist=off",
                "-vga",
                "none",
                "-icount",
                "shift=1",
            ),
            qemu_package="qemu-system-ppc",
            console="hvc0",
            loader="lib64/ld64.so.2",
            cpu_count=2,
            # No event of counter 5: counter 6 then runs beside it, from where
            # it stood in an earlier recording, and overflows (see the test).
            cycles="r1001e",
            instructions="r20002",
            cpus={"power9": "power9"},
        ),
    )
}

# The architecture of the build: its programs run in a guest as they are.
NATIVE = Machine(
    name="amd64",
    triple="x86_64-linux-gnu",
    kernel_package="linux-image-amd64",
    # Never KVM: the guest must behave the same on every host.
    qemu=("qemu-system-x86_64", "-machine", "q35,accel=tcg"),
    qemu_package="qemu-system-x86",
    console="ttyS0",
    loader="lib64/ld-linux-x86-64.so.2",
    cpu_count=1,
    cycles="",  # QEMU has no PMU of x86
    instructions="",
    cpus={"max": "max"},
)
