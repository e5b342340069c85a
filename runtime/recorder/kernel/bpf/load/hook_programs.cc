#include "runtime/recorder/kernel/bpf/load/hook_programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/scoped_fd.h"
#include "kernel_programs.skel.h"
#include "logformat/loss.h"
#include "runtime/recorder/events/event_list.h"
#include "runtime/recorder/kernel/bpf/load/bpf_error.h"
#include "runtime/recorder/kernel/bpf/load/function_programs.h"
#include "runtime/recorder/kernel/bpf/load/joint_attachment.h"
#include "runtime/recorder/kernel/bpf/load/uprobe_multi.h"
#include "runtime/recorder/kernel/functions/function_ways.h"

namespace countrace::runtime {
namespace {

constexpr char kNoFunctionHooks[] =
    ". No privilege helps: functions of the kernel need a kernel that takes "
    "fentry or is built with kprobes; `countrace list functions kernel` says "
    "what this one has";

// A program and the tracepoint that it attaches to by itself.
struct TracedProgram {
  bpf_program* program;
  const char* tracepoint;
};

// Selects programs for loading if `wanted`, but never one whose tracepoint is
// missing. All are looked up in the object's copy of the kernel's types, which
// takes some hundredths of a second to read.
int Select(std::initializer_list<TracedProgram> programs, bool wanted,
           bool& any_missing) {
  for (const TracedProgram& entry : programs) {
    bool load = wanted;
    if (load && bpf_program__set_attach_target(entry.program, 0,
                                               entry.tracepoint) != 0) {
      load = false;
      any_missing = true;
    }
    const int error = bpf_program__set_autoload(entry.program, load);
    if (error != 0) return -error;
  }
  return 0;
}

int LeaveToUs(bpf_program* program, bool wanted) {
  bpf_program__set_autoattach(program, false);
  return -bpf_program__set_autoload(program, wanted);
}

// Whether the program of probes is loaded to be attached to many places at
// once.
bool IsUprobeMulti(const kernel_programs& skeleton) {
  return bpf_program__expected_attach_type(skeleton.progs.on_user_probe) ==
         static_cast<bpf_attach_type>(kUprobeMultiAttachType);
}

absl::Status AttachError(const DynamicHook& hook) {
  const int error = errno;
  const char* why = "";
  if (error == EINVAL || error == ENOTSUP || error == EIO) {
    why = " (an instruction there that cannot be probed?)";
  } else if (error == EACCES || error == EPERM) {
    // CAP_BPF and CAP_PERFMON were checked before.
    why = " (the kernel takes probes of programs only from CAP_SYS_ADMIN)";
  }
  return base::ErrnoStatus(
      error, absl::StrFormat("Cannot attach hook %s:%s to %s%s", hook.provider,
                             hook.name, hook.location, why));
}

// Attaches one hook alone, so that its error is its own.
absl::Status AttachDynamicHook(const KernelHookRequest& request,
                               std::size_t index, const KernelHookRules& rules,
                               std::uint32_t cpu, kernel_programs& skeleton,
                               std::vector<bpf_link*>& links,
                               std::vector<base::ScopedFd>& joint_links) {
  const DynamicHook& hook = request.dynamic[index];
  const std::size_t links_before = links.size();
  const std::size_t joint_before = joint_links.size();
  for (std::size_t i = 0; i < hook.attachments.size(); ++i) {
    const HookAttachment& at = hook.attachments[i];
    const std::uint64_t cookie = CookieOf(request, rules, index, i);
    bpf_link* link = nullptr;
    base::ScopedFd joint_link;
    if (at.file.empty()) {
      perf_event_attr attr{};
      attr.size = sizeof(attr);
      attr.type = PERF_TYPE_TRACEPOINT;
      attr.config = at.tracepoint;
      attr.sample_period = 1;
      // A program on a tracepoint runs on every CPU, for every CPU of the
      // event.
      base::ScopedFd fd(OpenPerfEvent(attr, -1, static_cast<int>(cpu), -1));
      LIBBPF_OPTS(bpf_perf_event_opts, options);
      options.bpf_cookie = cookie;
      if (fd.is_open()) {
        link = bpf_program__attach_perf_event_opts(skeleton.progs.on_tracepoint,
                                                   fd.get(), &options);
      }
      if (link != nullptr) fd.Release();  // the link owns it
    } else if (IsUprobeMulti(skeleton)) {
      joint_link = AttachUprobes(
          bpf_program__fd(skeleton.progs.on_user_probe), at.file,
          {{at.offset}, {at.semaphore_offset}, {cookie}}, at.on_return);
    } else {
      LIBBPF_OPTS(bpf_uprobe_opts, options);
      options.bpf_cookie = cookie;
      options.retprobe = at.on_return;
      options.ref_ctr_offset = at.semaphore_offset;
      link =
          bpf_program__attach_uprobe_opts(skeleton.progs.on_user_probe, -1,
                                          at.file.c_str(), at.offset, &options);
    }
    if (link == nullptr && !joint_link.is_open()) {
      const absl::Status error = AttachError(hook);
      // An enter without its exit would be worse than neither.
      for (; links.size() > links_before; links.pop_back()) {
        bpf_link__destroy(links.back());
      }
      joint_links.resize(joint_before);
      return error;
    }
    if (link != nullptr) links.push_back(link);
    if (joint_link.is_open()) joint_links.push_back(std::move(joint_link));
  }
  return absl::OkStatus();
}

#ifdef __x86_64__
// The kernel counts a fault as minor or major after it has handled it.
absl::Status AttachFaultEnds(const std::vector<std::uint32_t>& cpus,
                             kernel_programs& skeleton,
                             std::vector<bpf_link*>& links) {
  constexpr std::uint64_t kMajor = 4;  // VM_FAULT_MAJOR
  for (const std::uint32_t cpu : cpus) {
    for (const bool major : {false, true}) {
      perf_event_attr attr{};
      attr.size = sizeof(attr);
      attr.type = PERF_TYPE_SOFTWARE;
      attr.config =
          major ? PERF_COUNT_SW_PAGE_FAULTS_MAJ : PERF_COUNT_SW_PAGE_FAULTS_MIN;
      attr.sample_period = 1;
      base::ScopedFd fd(OpenPerfEvent(attr, -1, static_cast<int>(cpu), -1));
      LIBBPF_OPTS(bpf_perf_event_opts, options);
      options.bpf_cookie = major ? kMajor : 0;
      bpf_link* const link =
          fd.is_open() ? bpf_program__attach_perf_event_opts(
                             skeleton.progs.on_fault_exit, fd.get(), &options)
                       : nullptr;
      if (link == nullptr) {
        return BpfError(
            errno, absl::StrFormat("Cannot watch page faults: cpu=%d", cpu));
      }
      links.push_back(link);
      fd.Release();  // the link owns it
    }
  }
  return absl::OkStatus();
}
#endif

}  // namespace

int SelectHookPrograms(const KernelHookRequest& request,
                       kernel_programs& skeleton,
                       std::vector<logformat::NotRecorded>& left_out) {
  const auto& programs = skeleton.progs;
  bool no_syscalls = false, no_faults = false, no_irqs = false;
  int error = Select({{programs.on_syscall_enter, "sys_enter"},
                      {programs.on_syscall_exit, "sys_exit"}},
                     request.syscalls, no_syscalls);
  if (error == 0) {
    error = Select({{programs.on_irq_enter, "irq_handler_entry"},
                    {programs.on_irq_exit, "irq_handler_exit"}},
                   request.irqs, no_irqs);
  }
  if (error == 0) {
    error = Select({{programs.on_softirq_enter, "softirq_entry"},
                    {programs.on_softirq_exit, "softirq_exit"}},
                   request.softirqs, no_irqs);
  }
#ifdef __x86_64__
  // Not every kernel is built with all of these interrupts.
  bool no_vector = false;
  if (error == 0) {
    error = Select(
        {{programs.on_local_timer_enter, "local_timer_entry"},
         {programs.on_local_timer_exit, "local_timer_exit"},
         {programs.on_reschedule_enter, "reschedule_entry"},
         {programs.on_reschedule_exit, "reschedule_exit"},
         {programs.on_call_function_enter, "call_function_entry"},
         {programs.on_call_function_exit, "call_function_exit"},
         {programs.on_call_function_single_enter, "call_function_single_entry"},
         {programs.on_call_function_single_exit, "call_function_single_exit"},
         {programs.on_irq_work_enter, "irq_work_entry"},
         {programs.on_irq_work_exit, "irq_work_exit"},
         {programs.on_x86_platform_ipi_enter, "x86_platform_ipi_entry"},
         {programs.on_x86_platform_ipi_exit, "x86_platform_ipi_exit"}},
        request.irqs, no_vector);
  }
  if (error == 0) {
    error = Select({{programs.on_user_fault_enter, "page_fault_user"},
                    {programs.on_kernel_fault_enter, "page_fault_kernel"}},
                   request.faults, no_faults);
  }
  if (error == 0) error = LeaveToUs(programs.on_fault_exit, request.faults);
#else
  no_faults = request.faults;
#endif
  bool probes = false, tracepoints = false;
  for (const DynamicHook& hook : request.dynamic) {
    for (const HookAttachment& at : hook.attachments) {
      if (!at.function.empty()) continue;
      (at.file.empty() ? tracepoints : probes) = true;
    }
  }
  if (error == 0) error = SelectFunctionPrograms(request, skeleton);
  if (error == 0) error = LeaveToUs(programs.on_user_probe, probes);
  if (probes && KernelHasUprobeMulti()) {
    bpf_program__set_expected_attach_type(
        programs.on_user_probe,
        static_cast<bpf_attach_type>(kUprobeMultiAttachType));
  }
  if (error == 0) error = LeaveToUs(programs.on_tracepoint, tracepoints);
  const std::pair<bool, const char*> missing[] = {
      {no_syscalls, "system calls (tracepoints raw_syscalls:sys_enter, exit)"},
      {no_irqs, "interrupts (tracepoints irq:*)"},
      {no_faults,
       "page faults (tracepoints exceptions:page_fault_*, which "
       "only x86 has)"}};
  for (const auto& [is_missing, what] : missing) {
    if (!is_missing) continue;
    left_out.push_back(logformat::Unavailable(absl::StrFormat(
        "Not recorded as segments: %s: this kernel does not have them", what)));
  }
  return error;
}

absl::Status AttachCalls(
    bool attach, [[maybe_unused]] const std::vector<std::uint32_t>& cpus,
    kernel_programs& skeleton, std::vector<bpf_link*>& fault_ends) {
  const auto& programs = skeleton.progs;
  auto& links = skeleton.links;
  const std::pair<const bpf_program*, bpf_link**> traced[] = {
      {programs.on_syscall_enter, &links.on_syscall_enter},
      {programs.on_syscall_exit, &links.on_syscall_exit},
#ifdef __x86_64__
      {programs.on_user_fault_enter, &links.on_user_fault_enter},
      {programs.on_kernel_fault_enter, &links.on_kernel_fault_enter},
#endif
  };
  for (const auto& [program, link] : traced) {
    if (!bpf_program__autoload(program)) continue;
    if (!attach) {
      bpf_link__destroy(std::exchange(*link, nullptr));
    } else if (*link == nullptr) {
      *link = bpf_program__attach(program);
      if (*link == nullptr) {
        return base::ErrnoStatus(errno, "Cannot attach BPF programs again");
      }
    }
  }
  // Files may have got other names while nothing was attached.
  if (attach) __atomic_fetch_add(&skeleton.bss->renames, 1, __ATOMIC_RELAXED);
  if (!attach) {
    for (bpf_link* const link : fault_ends) bpf_link__destroy(link);
    fault_ends.clear();
    return absl::OkStatus();
  }
#ifdef __x86_64__
  if (fault_ends.empty() && bpf_program__autoload(programs.on_fault_exit)) {
    return AttachFaultEnds(cpus, skeleton, fault_ends);
  }
#endif
  return absl::OkStatus();
}

absl::Status AttachHookPrograms(const KernelHookRequest& request,
                                const KernelHookRules& rules, std::uint32_t cpu,
                                kernel_programs& skeleton,
                                std::vector<bpf_link*>& links,
                                std::vector<base::ScopedFd>& joint_links,
                                std::vector<base::ScopedFd>& programs,
                                std::vector<std::size_t>& not_traced,
                                std::vector<logformat::NotRecorded>& left_out) {
  constexpr std::size_t kNamedFailures = 3;
  std::size_t failures = 0, denied = 0;
  bool no_way = true;  // to functions of the kernel, and no other was denied
  std::string denied_names;
  absl::Status last_failure;
  std::vector<bool> attached(request.dynamic.size());
  if (IsUprobeMulti(skeleton)) {
    const int program = bpf_program__fd(skeleton.progs.on_user_probe);
    attached = AttachJointly(
        request, rules,
        [program](const std::string& file, const UprobePlaces& places,
                  bool on_return) {
          return AttachUprobes(program, file, places, on_return);
        },
        joint_links);
  }
  FunctionPrograms functions(skeleton, programs);
  for (std::size_t i = 0; i < request.dynamic.size(); ++i) {
    if (attached[i]) continue;
    absl::Status failure;
    if (request.dynamic[i].type == DynamicHook::Type::kKernelFunction) {
      std::vector<std::uint64_t> cookies;
      for (std::size_t at = 0; at < request.dynamic[i].attachments.size();
           ++at) {
        cookies.push_back(CookieOf(request, rules, i, at));
      }
      bool probed = false;
      failure = functions.Attach(request.dynamic[i], cookies, links,
                                 joint_links, probed);
      if (probed && request.dynamic[i].attachments.front().traced) {
        not_traced.push_back(i);
      }
    } else {
      failure = AttachDynamicHook(request, i, rules, cpu, skeleton, links,
                                  joint_links);
    }
    if (request.attaching) request.attaching(i + 1, request.dynamic.size());
    if (failure.ok()) continue;
    last_failure = failure;
    if (absl::IsPermissionDenied(failure)) {
      no_way &= request.dynamic[i].type == DynamicHook::Type::kKernelFunction &&
                !FunctionWaysHere().no_kprobe.empty() &&
                !FunctionWaysHere().no_fentry.empty();
    }
    if (absl::IsPermissionDenied(failure) && ++denied <= kNamedFailures) {
      denied_names += (denied == 1 ? "" : "; ") + base::StatusText(failure);
    }
    if (++failures > kNamedFailures) continue;
    left_out.push_back(logformat::Unavailable(base::StatusText(failure)));
  }
  if (failures == 0) return absl::OkStatus();
  if (denied != 0 && !request.optional) {
    if (denied > kNamedFailures) {
      denied_names += absl::StrFormat("; and %d more", denied - kNamedFailures);
    }
    absl::Status status = absl::PermissionDeniedError(denied_names);
    status.SetPayload(kHookDeniedPayload,
                      absl::Cord(no_way ? kNoFunctionHooks : ""));
    return status;
  }
  if (failures == request.dynamic.size() && denied == 0) return last_failure;
  if (failures > kNamedFailures) {
    left_out.push_back(logformat::Unavailable(
        absl::StrFormat("%d of %d dynamic hooks could not be attached; the "
                        "first are named above",
                        failures, request.dynamic.size()),
        failures - kNamedFailures));
  }
  return absl::OkStatus();
}

}  // namespace countrace::runtime
