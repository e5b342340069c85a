#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "cli/escape_text.h"
#include "cli/exit_status.h"
#include "cli/row_table.h"
#include "cli/runtime_library.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "cli/verb_parser.h"
#include "runtime/recorder/capabilities.h"

namespace countrace::cli {
namespace {

using runtime::Capability;
using runtime::CapabilityStatus;

constexpr VerbText kText = {
    .name = "doctor",
    .summary = "what works on this machine, and what would fix the rest",
    .usage = "[options]",
    .details =
        "exit status: 0 if user hooks and kernel records can be recorded, 1 "
        "if\n"
        "not.\n",
    .examples = "countrace doctor\n",
};

// The recorder knows the machine; where our own library lies, we know.
Capability RuntimeLibraryCapability() {
  const auto library = FindRuntimeLibrary();
  if (library.ok()) {
    return {.name = "runtime-library",
            .status = CapabilityStatus::kOk,
            .detail = *library};
  }
  const auto message = library.status().message();
  return {.name = "runtime-library",
          .status = CapabilityStatus::kMissing,
          .detail = {message.data(), message.size()},
          .effect = "user hooks are not recorded"};
}

const char* ColorOf(CapabilityStatus status) {
  switch (status) {
    case CapabilityStatus::kOk:
      return "\x1b[32m";
    case CapabilityStatus::kLimited:
      return "\x1b[33m";
    case CapabilityStatus::kMissing:
      return "\x1b[31m";
  }
  return "";
}

std::string Text(const std::vector<Capability>& capabilities, bool color) {
  std::string out;
  for (const Capability& item : capabilities) {
    absl::StrAppendFormat(
        &out, "%s%-8s%s %s: %s\n", color ? ColorOf(item.status) : "",
        runtime::CapabilityStatusName(item.status), color ? "\x1b[0m" : "",
        EscapeText(item.name), EscapeText(item.detail));
    if (!item.effect.empty()) {
      absl::StrAppendFormat(&out, "         without it: %s\n",
                            EscapeText(item.effect));
    }
    if (!item.fix.empty()) {
      absl::StrAppendFormat(&out, "         fix: %s\n", EscapeText(item.fix));
    }
  }
  return out;
}

}  // namespace

int RunDoctor(const Arguments& arguments) {
  VerbParser parser(kText);
  std::string format, color;
  parser.AddFormat(format, {"text", "json", "jsonl", "csv"});
  parser.AddColor(color);
  if (const auto status = parser.Parse(arguments)) return *status;

  std::vector<Capability> capabilities = runtime::ProbeCapabilities();
  capabilities.insert(capabilities.begin(), RuntimeLibraryCapability());
  int exit_status = kExitOk;
  RowTable table("countrace.doctor/1", "capabilities",
                 {"name", "status", "detail", "effect", "fix"});
  for (const Capability& item : capabilities) {
    const bool needed =
        item.name == "runtime-library" || item.name == "kernel-records";
    if (needed && item.status == CapabilityStatus::kMissing) {
      exit_status = kExitFailed;
    }
    table.Add({item.name,
               std::string(runtime::CapabilityStatusName(item.status)),
               item.detail, item.effect, item.fix});
  }
  return PrintData(kText.name,
                   format == "text" ? Text(capabilities, UseColor(color))
                                    : table.Render(format),
                   exit_status);
}

}  // namespace countrace::cli
