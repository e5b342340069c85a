#include "runtime/recorder/system/thread_placement.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

namespace countrace::runtime {
namespace {

constexpr std::size_t kMaxCpus = 65536;
constexpr int kRaisedNice = -10;

cpu_set_t* AsSet(std::vector<std::byte>& bytes) {
  return reinterpret_cast<cpu_set_t*>(bytes.data());
}

}  // namespace

AffinityGuard::AffinityGuard() : saved_(CPU_ALLOC_SIZE(kMaxCpus)) {
  if (sched_getaffinity(0, saved_.size(), AsSet(saved_)) != 0) saved_.clear();
}

AffinityGuard::~AffinityGuard() {
  if (saved_.empty()) return;
  const int saved_errno = errno;
  sched_setaffinity(0, saved_.size(), AsSet(saved_));
  errno = saved_errno;
}

bool AffinityGuard::MoveTo(std::uint32_t cpu) {
  if (saved_.empty() || cpu >= kMaxCpus) return false;
  std::vector<std::byte> target(saved_.size());
  CPU_SET_S(cpu, target.size(), AsSet(target));
  // The kernel migrates the caller before the call returns.
  return sched_setaffinity(0, target.size(), AsSet(target)) == 0;
}

PriorityGuard::PriorityGuard() {
  const id_t tid = static_cast<id_t>(gettid());
  errno = 0;
  saved_ = getpriority(PRIO_PROCESS, tid);
  if (errno != 0 || saved_ <= kRaisedNice) return;
  raised_ = setpriority(PRIO_PROCESS, tid, kRaisedNice) == 0;
}

PriorityGuard::~PriorityGuard() {
  if (!raised_) return;
  const int saved_errno = errno;
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), saved_);
  errno = saved_errno;
}

}  // namespace countrace::runtime
