// Stands before those functions of the C library after which the process may
// not reach its trace any more: other credentials, another root. They do what
// they did; before, the streams are made to grow without it (less_access.h).
// interposed.cc has those that are also called by number, and namespaces.
// After those that close ranges of descriptors, ours may be among them
// (own_descriptors.h).
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "runtime/inprocess/interpose/interposed.h"
#include "runtime/inprocess/interpose/less_access.h"
#include "runtime/inprocess/process/own_descriptors.h"

#ifndef SYS_close_range
#define SYS_close_range 436  // the same on every architecture
#endif

namespace countrace::runtime {

namespace {

struct Real {
  const char* name;
  void* function;
};
Real g_setuid{"setuid", nullptr};
Real g_setgid{"setgid", nullptr};
Real g_seteuid{"seteuid", nullptr};
Real g_setegid{"setegid", nullptr};
Real g_setreuid{"setreuid", nullptr};
Real g_setregid{"setregid", nullptr};
Real g_setresuid{"setresuid", nullptr};
Real g_setresgid{"setresgid", nullptr};
Real g_setgroups{"setgroups", nullptr};
Real g_capset{"capset", nullptr};
Real g_chroot{"chroot", nullptr};
Real g_closefrom{"closefrom", nullptr};
Real g_close_range{"close_range", nullptr};

template <typename... Arguments>
int CallKept(Real& real, Arguments... arguments) noexcept {
  KeepStreamsGrowing();
  using Function = int (*)(Arguments...);
  return reinterpret_cast<Function>(Find(&real.function, real.name))(
      arguments...);
}

}  // namespace
}  // namespace countrace::runtime

using countrace::runtime::CallKept;

extern "C" {

int CountraceSetuid(uid_t id) COUNTRACE_EXPORT(setuid);
int CountraceSetgid(gid_t id) COUNTRACE_EXPORT(setgid);
int CountraceSeteuid(uid_t id) COUNTRACE_EXPORT(seteuid);
int CountraceSetegid(gid_t id) COUNTRACE_EXPORT(setegid);
int CountraceSetreuid(uid_t real, uid_t effective) COUNTRACE_EXPORT(setreuid);
int CountraceSetregid(gid_t real, gid_t effective) COUNTRACE_EXPORT(setregid);
int CountraceSetresuid(uid_t real, uid_t effective, uid_t saved)
    COUNTRACE_EXPORT(setresuid);
int CountraceSetresgid(gid_t real, gid_t effective, gid_t saved)
    COUNTRACE_EXPORT(setresgid);
int CountraceSetgroups(size_t count, const gid_t* groups)
    COUNTRACE_EXPORT(setgroups);
int CountraceCapset(void* header, const void* data) COUNTRACE_EXPORT(capset);
int CountraceChroot(const char* path) COUNTRACE_EXPORT(chroot);
void CountraceClosefrom(int first) COUNTRACE_EXPORT(closefrom);
int CountraceCloseRange(unsigned first, unsigned last, int flags)
    COUNTRACE_EXPORT(close_range);

int CountraceSetuid(uid_t id) {
  return CallKept(countrace::runtime::g_setuid, id);
}
int CountraceSetgid(gid_t id) {
  return CallKept(countrace::runtime::g_setgid, id);
}
int CountraceSeteuid(uid_t id) {
  return CallKept(countrace::runtime::g_seteuid, id);
}
int CountraceSetegid(gid_t id) {
  return CallKept(countrace::runtime::g_setegid, id);
}
int CountraceSetreuid(uid_t real, uid_t effective) {
  return CallKept(countrace::runtime::g_setreuid, real, effective);
}
int CountraceSetregid(gid_t real, gid_t effective) {
  return CallKept(countrace::runtime::g_setregid, real, effective);
}
int CountraceSetresuid(uid_t real, uid_t effective, uid_t saved) {
  return CallKept(countrace::runtime::g_setresuid, real, effective, saved);
}
int CountraceSetresgid(gid_t real, gid_t effective, gid_t saved) {
  return CallKept(countrace::runtime::g_setresgid, real, effective, saved);
}
int CountraceSetgroups(size_t count, const gid_t* groups) {
  return CallKept(countrace::runtime::g_setgroups, count, groups);
}
int CountraceCapset(void* header, const void* data) {
  return CallKept(countrace::runtime::g_capset, header, data);
}
int CountraceChroot(const char* path) {
  return CallKept(countrace::runtime::g_chroot, path);
}

// C libraries of before 2021 have neither.
void CountraceClosefrom(int first) {
  using namespace countrace::runtime;  // NOLINT: C entry point
  const auto real = reinterpret_cast<void (*)(int)>(
      Find(&g_closefrom.function, g_closefrom.name));
  const RangeClosing closing;
  if (real != nullptr) {
    real(first);
  } else {
    syscall(SYS_close_range, first < 0 ? 0 : first, ~0u, 0);
  }
}
int CountraceCloseRange(unsigned first, unsigned last, int flags) {
  using namespace countrace::runtime;  // NOLINT: C entry point
  const auto real = reinterpret_cast<int (*)(unsigned, unsigned, int)>(
      Find(&g_close_range.function, g_close_range.name));
  const RangeClosing closing;
  return real != nullptr
             ? real(first, last, flags)
             : static_cast<int>(syscall(SYS_close_range, first, last, flags));
}

__attribute__((constructor(101))) static void FindAccessFunctions() {
  using namespace countrace::runtime;  // NOLINT: C entry point
  Real* const all[] = {&g_setuid,     &g_setgid,   &g_seteuid,   &g_setegid,
                       &g_setreuid,   &g_setregid, &g_setresuid, &g_setresgid,
                       &g_setgroups,  &g_capset,   &g_chroot,    &g_closefrom,
                       &g_close_range};
  for (Real* const real : all) {
    Find(&real->function, real->name);
  }
}

}  // extern "C"
