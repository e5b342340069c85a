#include "cli/program/exit_status.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "absl/strings/cord.h"
#include "base/text/name_escape.h"

namespace countrace::cli {
namespace {

constexpr char kUsagePayload[] = "countrace/usage";

}  // namespace

absl::Status AsUsage(absl::Status status) {
  if (absl::IsInvalidArgument(status)) {
    status.SetPayload(kUsagePayload, absl::Cord());
  }
  return status;
}

bool IsUsage(const absl::Status& status) {
  return status.GetPayload(kUsagePayload).has_value();
}

void Say(std::string_view verb, std::string_view message) {
  // One write for each message: the recorded command shares stderr.
  std::string text = "countrace ";
  text.append(verb)
      .append(": ")
      .append(base::EscapeLines(message))
      .append("\n");
  std::fwrite(text.data(), 1, text.size(), stderr);
}

int ReportFailure(std::string_view verb, const absl::Status& status) {
  const auto message = status.message();
  Say(verb, {message.data(), message.size()});
  if (absl::IsCancelled(status)) return kExitInterrupted;
  return absl::IsPermissionDenied(status) ? kExitPrivilege : kExitFailed;
}

int PrintData(std::string_view verb, std::string_view data, int status) {
  const bool written =
      std::fwrite(data.data(), 1, data.size(), stdout) == data.size();
  // ferror(): of what a verb wrote itself before.
  if (!written || std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    Say(verb, std::string("cannot write to standard output: ") +
                  std::strerror(errno));
    return kExitFailed;
  }
  return status;
}

}  // namespace countrace::cli
