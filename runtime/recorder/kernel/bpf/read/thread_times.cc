#include "runtime/recorder/system/thread_times.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <utility>

#include "base/posix/errno_status.h"
#include "base/posix/scoped_fd.h"
#include "runtime/recorder/kernel/bpf/programs/thread_times.h"
#include "thread_times.skel.h"

namespace countrace::runtime {
namespace {

// PROC_PID_INIT_INO: the number of the machine's own pid namespace.
constexpr ino_t kMachinesPids = 0xeffffffc;

using Key = std::pair<std::int32_t, std::uint64_t>;  // tid, start
using All = std::map<Key, countrace_thread_times>;

Key KeyOf(const countrace_thread_times& times) {
  return {times.key.tid, times.key.start_ns};
}

struct DestroySkeleton {
  void operator()(thread_times* skeleton) const {
    thread_times__destroy(skeleton);
  }
};

class BpfThreadTimesWatch : public ThreadTimesWatch {
 public:
  explicit BpfThreadTimesWatch(
      std::unique_ptr<thread_times, DestroySkeleton> skeleton)
      : skeleton_(std::move(skeleton)) {}

  absl::Status Begin() override {
    // The order matters: a thread that ends between is in both.
    skeleton_->links.on_switch =
        bpf_program__attach(skeleton_->progs.on_switch);
    skeleton_->links.running =
        bpf_program__attach_iter(skeleton_->progs.running, nullptr);
    if (skeleton_->links.on_switch == nullptr ||
        skeleton_->links.running == nullptr) {
      return base::ErrnoStatus(errno, "Cannot attach the programs");
    }
    return ReadRunning(begin_);
  }

  absl::StatusOr<std::vector<ThreadTimes>> End() override {
    All end;
    if (absl::Status read = ReadRunning(end); !read.ok()) return read;
    // What ended meanwhile has its last times.
    const int map = bpf_map__fd(skeleton_->maps.ended);
    countrace_thread_key key{}, next{};
    for (bool first = true;
         bpf_map_get_next_key(map, first ? nullptr : &key, &next) == 0;
         first = false) {
      key = next;
      countrace_thread_times times{};
      if (bpf_map_lookup_elem(map, &key, &times) == 0) {
        end[KeyOf(times)] = times;
      }
    }
    std::vector<ThreadTimes> out;
    for (const auto& [thread, times] : end) {
      ThreadTimes one{thread.first, thread.second, times.user_ns,
                      times.system_ns};
      if (const auto before = begin_.find(thread); before != begin_.end()) {
        // An exec by another thread goes on under the main one's number.
        one.user_ns -=
            std::min<std::uint64_t>(one.user_ns, before->second.user_ns);
        one.system_ns -=
            std::min<std::uint64_t>(one.system_ns, before->second.system_ns);
      }
      out.push_back(one);
    }
    return out;
  }

 private:
  absl::Status ReadRunning(All& all) const {
    const base::ScopedFd fd(
        bpf_iter_create(bpf_link__fd(skeleton_->links.running)));
    if (!fd.is_open()) return base::ErrnoStatus(errno, "Cannot list threads");
    std::array<countrace_thread_times, 64> some;
    std::size_t kept = 0;  // bytes: a read may end within one
    auto* const bytes = reinterpret_cast<char*>(some.data());
    for (;;) {
      const ssize_t got = read(fd.get(), bytes + kept, sizeof(some) - kept);
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got < 0) return base::ErrnoStatus(errno, "Cannot list threads");
      if (got == 0) return absl::OkStatus();
      kept += static_cast<std::size_t>(got);
      const std::size_t whole = kept / sizeof(some[0]);
      for (std::size_t i = 0; i < whole; ++i) all[KeyOf(some[i])] = some[i];
      kept -= whole * sizeof(some[0]);
      if (kept != 0) some[0] = some[whole];
    }
  }

  std::unique_ptr<thread_times, DestroySkeleton> skeleton_;
  All begin_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ThreadTimesWatch>> OpenThreadTimesWatch() {
  struct stat pids {};
  if (stat("/proc/self/ns/pid", &pids) != 0 || pids.st_ino != kMachinesPids) {
    return absl::UnimplementedError("Not in a pid namespace of its own");
  }
  const libbpf_print_fn_t old_print = libbpf_set_print(nullptr);
  std::unique_ptr<thread_times, DestroySkeleton> skeleton(
      thread_times__open_and_load());
  const int error = errno;
  libbpf_set_print(old_print);
  if (skeleton == nullptr) {
    return base::ErrnoStatus(error, "Cannot load BPF programs");
  }
  return std::make_unique<BpfThreadTimesWatch>(std::move(skeleton));
}

}  // namespace countrace::runtime
