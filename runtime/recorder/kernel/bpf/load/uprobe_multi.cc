#include "runtime/recorder/kernel/bpf/load/uprobe_multi.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace countrace::runtime {
namespace {

constexpr std::uint32_t kOnReturn = 1;  // BPF_F_UPROBE_MULTI_RETURN

// The part `link_create` of union bpf_attr, with its `uprobe_multi`, as in
// include/uapi/linux/bpf.h of Linux 6.6.
struct LinkCreate {
  std::uint32_t program, target, attach_type, flags;
  std::uint64_t path, offsets, semaphore_offsets, cookies;
  std::uint32_t count, multi_flags, pid, reserved;
};

std::uint64_t Address(const void* memory) {
  return reinterpret_cast<std::uint64_t>(memory);
}

}  // namespace

bool KernelHasUprobeMulti() {
  constexpr bpf_insn kReturnZero[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K,
                                       .dst_reg = BPF_REG_0,
                                       .src_reg = 0,
                                       .off = 0,
                                       .imm = 0},
                                      {.code = BPF_JMP | BPF_EXIT,
                                       .dst_reg = 0,
                                       .src_reg = 0,
                                       .off = 0,
                                       .imm = 0}};
  LIBBPF_OPTS(bpf_prog_load_opts, options);
  options.expected_attach_type =
      static_cast<bpf_attach_type>(kUprobeMultiAttachType);
  const base::ScopedFd program(bpf_prog_load(BPF_PROG_TYPE_KPROBE, nullptr,
                                             "GPL", kReturnZero, 2, &options));
  if (!program.is_open()) return false;
  // A kernel that has it looks at the path: no regular file.
  const base::ScopedFd link =
      AttachUprobes(program.get(), "/", {{0}, {0}, {0}}, false);
  return !link.is_open() && errno == EBADF;
}

base::ScopedFd AttachUprobes(int program, const std::string& file,
                             const UprobePlaces& places, bool on_return) {
  LinkCreate create{};
  create.program = static_cast<std::uint32_t>(program);
  create.attach_type = kUprobeMultiAttachType;
  create.path = Address(file.c_str());
  create.offsets = Address(places.offsets.data());
  create.semaphore_offsets = Address(places.semaphore_offsets.data());
  create.cookies = Address(places.cookies.data());
  create.count = static_cast<std::uint32_t>(places.offsets.size());
  create.multi_flags = on_return ? kOnReturn : 0;
  return base::ScopedFd(static_cast<int>(
      syscall(SYS_bpf, BPF_LINK_CREATE, &create, sizeof(create))));
}

}  // namespace countrace::runtime
