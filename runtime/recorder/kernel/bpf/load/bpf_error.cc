#include "runtime/recorder/kernel/bpf/load/bpf_error.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "runtime/recorder/system/descriptor_limit.h"

namespace countrace::runtime {
namespace {

thread_local std::string t_warning;

int KeepWarning(libbpf_print_level level, const char* format, va_list values) {
  if (level != LIBBPF_WARN) return 0;
  char text[256];
  vsnprintf(text, sizeof(text), format, values);
  t_warning = text;
  while (!t_warning.empty() && t_warning.back() == '\n') t_warning.pop_back();
  return 0;
}

}  // namespace

KeptWarnings::KeptWarnings() : old_print_(libbpf_set_print(KeepWarning)) {
  t_warning.clear();
}

KeptWarnings::~KeptWarnings() { libbpf_set_print(old_print_); }

absl::Status BpfError(int error, const std::string& what) {
  const std::string text =
      t_warning.empty() ? what : what + " (" + t_warning + ")";
  if (error == EINVAL || error == ESRCH || error == EOPNOTSUPP ||
      error == ENOSYS) {
    return absl::UnimplementedError(
        absl::StrFormat("%s: errno=%d", text, error));
  }
  if (error == EMFILE) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("%s: %s", what, TooFewDescriptors()));
  }
  return base::ErrnoStatus(error, text);
}

}  // namespace countrace::runtime
