#include "runtime/recorder/samples/overflow_signals.h"

#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/scoped_fd.h"
#include "overflow_signals.skel.h"
#include "runtime/recorder/events/event_list.h"

namespace countrace::runtime {
namespace {

struct DestroySkeleton {
  void operator()(overflow_signals* skeleton) const {
    overflow_signals__destroy(skeleton);
  }
};

class BpfOverflowSignals : public OverflowSignals {
 public:
  BpfOverflowSignals(
      SignalRequest request,
      std::unique_ptr<overflow_signals, DestroySkeleton> skeleton)
      : request_(std::move(request)), skeleton_(std::move(skeleton)) {}

  absl::Status Begin(const std::vector<std::int32_t>& tids,
                     bool from_exec) override {
    perf_event_attr attr = ToPerfAttr(request_.event);
    attr.sample_period = request_.period;
    attr.inherit = 1;
    attr.disabled = 1;
    attr.enable_on_exec = from_exec ? 1 : 0;
    const int program = bpf_program__fd(skeleton_->progs.on_overflow);
    for (const std::int32_t tid : tids) {
      base::ScopedFd fd(OpenPerfEvent(attr, tid, -1, -1));
      if (!fd.is_open() && errno == ESRCH) continue;
      if (!fd.is_open()) {
        const int error = errno;
        return absl::Status(
            base::ErrnoStatus(error, "").code(),
            absl::StrFormat("--signal-every: cannot count %s: %s",
                            request_.event.name, ExplainOpenError(error)));
      }
      if (ioctl(fd.get(), PERF_EVENT_IOC_SET_BPF, program) != 0) {
        return base::ErrnoStatus(
            errno, "--signal-every: cannot attach the program to the event");
      }
      if (!from_exec && ioctl(fd.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) {
        return base::ErrnoStatus(errno, "--signal-every: cannot begin");
      }
      events_.push_back(std::move(fd));
    }
    if (events_.empty()) {
      return absl::NotFoundError("--signal-every: there is no thread to count");
    }
    return absl::OkStatus();
  }

  // The events of children end with that of their ancestor.
  void End() override { events_.clear(); }

  std::string Describe() const override {
    std::string text =
        absl::StrFormat("%s was sent %d times, at each %d %s of a thread",
                        request_.SignalName(), skeleton_->bss->sent,
                        request_.period, request_.event.name);
    if (skeleton_->bss->unhandled != 0) {
      absl::StrAppendFormat(
          &text, "; %d times not, as the program had no handler for it",
          skeleton_->bss->unhandled);
    }
    if (skeleton_->bss->failed != 0) {
      absl::StrAppendFormat(&text, "; %d times the kernel refused it",
                            skeleton_->bss->failed);
    }
    return text;
  }

 private:
  const SignalRequest request_;
  std::unique_ptr<overflow_signals, DestroySkeleton> skeleton_;
  std::vector<base::ScopedFd> events_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<OverflowSignals>> OpenOverflowSignals(
    const SignalRequest& request) {
  std::unique_ptr<overflow_signals, DestroySkeleton> skeleton(
      overflow_signals__open());
  if (skeleton == nullptr) {
    return base::ErrnoStatus(errno, "--signal-every: cannot open BPF programs");
  }
  skeleton->rodata->signal_number = static_cast<unsigned>(request.signal);
  // Our error says it: libbpf would print, too.
  const libbpf_print_fn_t old_print = libbpf_set_print(nullptr);
  const int failed = overflow_signals__load(skeleton.get());
  libbpf_set_print(old_print);
  if (failed != 0) {
    return base::ErrnoStatus(
        -failed,
        "--signal-every: cannot load its BPF program, which needs root or "
        "CAP_BPF and CAP_PERFMON");
  }
  return std::make_unique<BpfOverflowSignals>(request, std::move(skeleton));
}

}  // namespace countrace::runtime
