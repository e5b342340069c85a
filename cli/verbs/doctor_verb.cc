#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "cli/program/exit_status.h"
#include "cli/program/help_texts.h"
#include "cli/program/row_table.h"
#include "cli/program/runtime_library.h"
#include "cli/program/terminal.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"
#include "runtime/recorder/control/left_files.h"
#include "runtime/recorder/doctor/capabilities.h"
#include "runtime/recorder/events/event_set_choice.h"
#include "runtime/recorder/events/vocabulary_event.h"
#include "runtime/recorder/lttng/lttng_here.h"

namespace countrace::cli {
namespace {

using runtime::Capability;
using runtime::CapabilityStatus;

// The recorder checks the machine; the program checks its own libraries.
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

Capability LttngCapability() {
  Capability item{.name = "lttng"};
  const auto library = FindLttngLibrary();
  absl::Status status = runtime::LttngToolsAreHere();
  status.Update(library.status());
  if (!status.ok()) {
    item.status = CapabilityStatus::kMissing;
    const auto message = status.message();
    item.detail = {message.data(), message.size()};
    item.effect = "hooks are not recorded into LTTng traces";
    if (library.ok()) item.fix = "apt-get install lttng-tools";
    return item;
  }
  item.detail = *library;
  const std::string why_not = runtime::WhyNoLttngKernelEvents();
  if (!why_not.empty()) {
    item.status = CapabilityStatus::kLimited;
    item.detail += "; no kernel events: " + why_not;
    item.effect = "`record --backend lttng` has the hooks only, no dispatches";
  }
  return item;
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
        base::EscapeName(item.name), base::EscapeName(item.detail));
    if (!item.effect.empty()) {
      absl::StrAppendFormat(&out, "         without it: %s\n",
                            base::EscapeName(item.effect));
    }
    if (!item.fix.empty()) {
      absl::StrAppendFormat(&out, "         fix: %s\n",
                            base::EscapeName(item.fix));
    }
  }
  return out;
}

int RunDoctor(const Arguments& arguments) {
  VerbParser parser(kDoctorVerb);
  std::string format, color, model, event_file;
  std::vector<std::string> events;
  parser.AddTexts("--event", events);
  parser.AddText("--event-file", event_file);
  parser.AddText("--model", model);
  parser.AddFormat(format, {"text", "json", "jsonl", "csv"});
  parser.AddColor(color);
  if (const auto status = parser.Parse(arguments)) return *status;
  absl::Status status = runtime::UseEventFile(event_file);
  if (!model.empty() && status.ok()) status = runtime::UseModel(model);
  if (!status.ok()) return ReportFailure(kDoctorVerb.name, status);
  const auto choice = runtime::ParseEventChoice(runtime::SplitEvents(events),
                                                /*running_slot=*/true);
  if (!choice.ok()) {
    return parser.UsageError(std::string(choice.status().message()));
  }
  if (!model.empty() && choice->events.empty()) {
    return parser.UsageError("--model: of which events? give them with -e");
  }

  std::vector<Capability> capabilities;
  if (model.empty()) {
    runtime::RemoveLeftFiles();
    capabilities = runtime::ProbeCapabilities();
    capabilities.insert(capabilities.begin(), RuntimeLibraryCapability());
    capabilities.push_back(LttngCapability());
  }
  int exit_status = kExitOk;
  if (!choice->events.empty()) {
    for (Capability& item : runtime::ProbeEventSets(*choice)) {
      if (item.status != CapabilityStatus::kOk) exit_status = kExitFailed;
      capabilities.push_back(std::move(item));
    }
  }
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
  return PrintData(kDoctorVerb.name,
                   format == "text" ? Text(capabilities, UseColor(color))
                                    : table.Render(format),
                   exit_status);
}

}  // namespace

const Verb kDoctorVerb = {"doctor", kDoctorHelp, RunDoctor,
                          runtime::FileRights::kRecord};

}  // namespace countrace::cli
