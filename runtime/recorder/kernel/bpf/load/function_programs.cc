#include "runtime/recorder/kernel/bpf/load/function_programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "kernel_programs.skel.h"
#include "runtime/recorder/kernel/functions/function_ways.h"
#include "runtime/recorder/kernel/functions/kernel_types.h"

namespace countrace::runtime {
namespace {

using Place = HookAttachment::Place;

// A descriptor of the types of a module that the kernel holds.
base::ScopedFd OpenModuleTypes(const std::string& module) {
  __u32 id = 0;
  while (bpf_btf_get_next_id(id, &id) == 0) {
    base::ScopedFd fd(bpf_btf_get_fd_by_id(id));
    if (!fd.is_open()) continue;
    char name[64] = {};
    bpf_btf_info info{};
    info.name = reinterpret_cast<std::uintptr_t>(name);
    info.name_len = sizeof(name);
    __u32 bytes = sizeof(info);
    if (bpf_obj_get_info_by_fd(fd.get(), &info, &bytes) == 0 &&
        info.kernel_btf != 0 && module == name) {
      return fd;
    }
  }
  return base::ScopedFd();
}

}  // namespace

int SelectFunctionPrograms(const KernelHookRequest& request,
                           kernel_programs& skeleton) {
  const auto& programs = skeleton.progs;
  bool traced = false, any = false;
  for (const DynamicHook& hook : request.dynamic) {
    if (hook.type != DynamicHook::Type::kKernelFunction) continue;
    any = true;
    traced |= hook.attachments.front().traced;
  }
  const std::pair<bpf_program*, bool> wanted[] = {
      {programs.on_function_enter, traced},
      {programs.on_function_exit, traced},
      {programs.on_kernel_probe, any && FunctionWaysHere().no_kprobe.empty()}};
  for (const auto& [program, load] : wanted) {
    bpf_program__set_autoattach(program, false);
    int error = bpf_program__set_autoload(program, load);
    // A pattern must have a function of its own.
    if (error == 0 && load && program != programs.on_kernel_probe) {
      error = bpf_program__set_attach_target(program, 0, MeasuredFunction());
    }
    if (error != 0) return -error;
  }
  return 0;
}

FunctionPrograms::FunctionPrograms(kernel_programs& skeleton,
                                   std::vector<base::ScopedFd>& programs)
    : skeleton_(skeleton), programs_(programs) {}

int FunctionPrograms::AttachTraced(const HookAttachment& at,
                                   std::uint64_t cookie,
                                   std::vector<base::ScopedFd>& links) {
  const bool exit = at.place == Place::kExit;
  const bpf_program* const pattern = exit ? skeleton_.progs.on_function_exit
                                          : skeleton_.progs.on_function_enter;
  if (bpf_program__fd(pattern) < 0) return EPERM;
  const std::uint32_t id = FunctionTypeId(at.module, at.function);
  if (id == 0) return ENOENT;
  const bpf_attach_type type = exit ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY;
  LIBBPF_OPTS(bpf_prog_load_opts, options);
  options.expected_attach_type = type;
  options.attach_btf_id = id;
  if (!at.module.empty()) {
    const auto [types, added] = module_types_.try_emplace(at.module);
    if (added) types->second = OpenModuleTypes(at.module);
    if (!types->second.is_open()) return ENOENT;
    options.attach_btf_obj_fd = static_cast<__u32>(types->second.get());
  }
  base::ScopedFd program(bpf_prog_load(
      BPF_PROG_TYPE_TRACING, bpf_program__name(pattern), "GPL",
      bpf_program__insns(pattern), bpf_program__insn_cnt(pattern), &options));
  if (!program.is_open()) return errno;
  LIBBPF_OPTS(bpf_link_create_opts, link_options);
  link_options.tracing.cookie = cookie;
  base::ScopedFd link(bpf_link_create(program.get(), 0, type, &link_options));
  if (!link.is_open()) return errno;
  links.push_back(std::move(link));
  programs_.push_back(std::move(program));
  return 0;
}

absl::Status FunctionPrograms::Attach(const DynamicHook& hook,
                                      const std::vector<std::uint64_t>& cookies,
                                      std::vector<bpf_link*>& probes,
                                      std::vector<base::ScopedFd>& traced,
                                      bool& probed) {
  const std::size_t traced_before = traced.size(), all = cookies.size();
  probed = !hook.attachments.front().traced;
  int not_traced = 0;
  for (std::size_t i = 0; i < all && !probed && not_traced == 0; ++i) {
    not_traced = AttachTraced(hook.attachments[i], cookies[i], traced);
  }
  if (!probed && not_traced == 0) return absl::OkStatus();
  probed = true;
  // An enter without its exit would be worse than neither.
  traced.resize(traced_before);
  const std::string what =
      absl::StrFormat("Cannot attach hook %s:%s", hook.provider, hook.name);
  if (const FunctionWays& ways = FunctionWaysHere(); !ways.no_kprobe.empty()) {
    const HookAttachment& at = hook.attachments.front();
    KernelFunction function{at.function, at.module, ""};
    if (ChooseWay(function) != FunctionWay::kNone) {
      function.why_not =
          absl::StrFormat("the kernel refuses fentry there: %s; %s",
                          std::strerror(not_traced), ways.no_kprobe);
    }
    return absl::PermissionDeniedError(what + ": " + function.why_not);
  }
  const std::size_t probes_before = probes.size();
  for (std::size_t i = 0; i < all; ++i) {
    const HookAttachment& at = hook.attachments[i];
    LIBBPF_OPTS(bpf_kprobe_opts, options);
    options.bpf_cookie = cookies[i];
    options.retprobe = at.place == Place::kExit;
    // By name the kernel refuses a name that it has twice.
    options.offset = at.offset;
    bpf_link* const link = bpf_program__attach_kprobe_opts(
        skeleton_.progs.on_kernel_probe,
        at.offset != 0 ? nullptr : at.function.c_str(), &options);
    if (link == nullptr) {
      const int error = errno;
      for (; probes.size() > probes_before; probes.pop_back()) {
        bpf_link__destroy(probes.back());
      }
      return base::ErrnoStatus(error, what + " by a kprobe");
    }
    probes.push_back(link);
  }
  return absl::OkStatus();
}

}  // namespace countrace::runtime
