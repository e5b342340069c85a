"""What recording took in sampled stacks is one frame, `[recording]`, with all that
is inside of it (docs/samples.md).
"""
import bisect
import re

RECORDING, KERNEL, STEPPED = '[recording]', '[kernel]', '[uprobes]'
OWN = re.compile(r'bpf_prog_.{16}_on_')
CALLER = re.compile(r'bpf_trace_run|__bpf_trace_|bpf_trampoline_')
TRAPS = {'asm_exc_int3', 'asm_exc_debug', '__x64_sys_uretprobe', '__x64_sys_uprobe',
         'uprobe_brk_handler', 'uprobe_breakpoint_handler', 'uprobe_notify_resume'}


class RecordingCode:
    """`stacks`: each a tuple of (path, address), from the outermost frame on."""

    def __init__(self, symbols, has_probes, stacks):
        """`symbols`: (begin, bytes, name) of the kernel."""
        self.symbols = sorted(symbols)
        self.has_probes = has_probes
        self.parts = set()  # stacks whose innermost frame is a part of it
        for stack in stacks:
            if not self.is_own(stack[-1]):
                continue
            self.parts.add(stack)
            while len(stack) > 1 and CALLER.match(self.name(stack[-2])):
                stack = stack[:-1]
                self.parts.add(stack)

    def name(self, frame):
        path, address = frame
        at = bisect.bisect_right(self.symbols, (address, 1 << 64, '')) - 1
        if path != KERNEL or at < 0:
            return ''
        begin, size, name = self.symbols[at]
        return name if address - begin < size else ''

    def is_own(self, frame):
        return bool(OWN.match(self.name(frame))) or self.has_probes and (
            frame[0] == STEPPED or self.name(frame) in TRAPS)

    def joined(self, stack):
        """The paths of its frames, from the innermost on."""
        for length in range(1, len(stack) + 1):
            if stack[:length] in self.parts:
                return [RECORDING, *(path for path, _ in reversed(stack[:length - 1]))]
        return [path for path, _ in reversed(stack)]
