#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "base/text/glob.h"
#include "base/text/quantity_format.h"
#include "cli/program/exit_status.h"
#include "cli/program/help_texts.h"
#include "cli/program/row_table.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"
#include "runtime/recorder/control/left_files.h"
#include "runtime/recorder/control/process_control.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_spec.h"
#include "runtime/recorder/system/tracepoint_format.h"

namespace countrace::cli {
namespace {

using runtime::ProcessControl;
using runtime::RunningHook;

std::vector<RunningHook> Matching(const std::vector<RunningHook>& hooks,
                                  const std::string& glob) {
  std::vector<RunningHook> matching;
  for (const RunningHook& hook : hooks) {
    if (base::GlobMatches(glob.c_str(), hook.name.c_str())) {
      matching.push_back(hook);
    }
  }
  return matching;
}

int PrintHooks(const ProcessControl& process,
               const std::vector<RunningHook>& hooks,
               const std::string& format) {
  RowTable table("countrace.running_hooks/1", "hooks",
                 {"id", "hook", "location", "kind", "state"});
  for (const RunningHook& hook : hooks) {
    table.Add({hook.id, hook.name, hook.location, hook.kind,
               std::string(hook.on ? "on" : "off")});
  }
  if (format == "text") {
    Say(kHooksVerb.name,
        process.session().empty()
            ? absl::StrFormat("process %d is not being recorded; `countrace "
                              "record -p %d` does it",
                              process.pid(), process.pid())
            : absl::StrFormat("process %d is being recorded into %s",
                              process.pid(), process.session()));
  }
  return PrintData(kHooksVerb.name, table.Render(format));
}

// The arguments of its values, "arg0:u64,arg1:char[]".
std::string ValuesOf(const runtime::HookAttachment& at) {
  std::string values;
  const auto fields = runtime::ParseTracepointFormat(at.arguments);
  if (!fields.ok()) return "-";
  for (const runtime::TracepointField& field : *fields) {
    if (field.name.starts_with("common_")) continue;
    absl::StrAppendFormat(&values, "%s%s", values.empty() ? "" : ",",
                          field.name);
  }
  return values.empty() ? "-" : values;
}

int ListKernelHooks(const std::string& glob, const std::string& format) {
  const auto hooks = runtime::ReadModuleHooks("*");
  if (!hooks.ok()) return ReportFailure(kHooksVerb.name, hooks.status());
  RowTable table("countrace.kernel_hooks/1", "hooks",
                 {"hook", "location", "kind", "places", "values"});
  for (const runtime::DynamicHook& hook : *hooks) {
    const std::string name = absl::StrFormat("%s:%s", hook.provider, hook.name);
    if (!glob.empty() && !base::GlobMatches(glob.c_str(), name.c_str())) {
      continue;
    }
    const bool segment = hook.kind == logformat::HookKind::kSegment;
    table.Add({name, hook.location, std::string(segment ? "segment" : "point"),
               std::uint64_t{hook.attachments.size()},
               ValuesOf(hook.attachments.front())});
  }
  if (table.size() == 0) {
    Say(kHooksVerb.name,
        glob.empty() || hooks->empty()
            ? "no loaded module has hooks of countrace_kernel_hooks.h"
            : "no hook of a module matches " + glob);
  }
  return PrintData(kHooksVerb.name, table.Render(format));
}

int SwitchHooks(ProcessControl& process, const std::string& glob, bool on,
                bool quiet) {
  const absl::Status switched = process.Switch(glob, on);
  if (!switched.ok()) return ReportFailure(kHooksVerb.name, switched);
  const auto hooks = process.List();
  if (!hooks.ok()) return ReportFailure(kHooksVerb.name, hooks.status());
  const std::vector<RunningHook> matching = Matching(*hooks, glob);
  std::size_t as_asked = 0;
  for (const RunningHook& hook : matching) as_asked += hook.on == on ? 1 : 0;
  if (!quiet) {
    Say(kHooksVerb.name, absl::StrFormat("%s of %s hooks of process %d are %s",
                                         base::FormatCount(as_asked),
                                         base::FormatCount(hooks->size()),
                                         process.pid(), on ? "on" : "off"));
  }
  if (as_asked == matching.size()) return kExitOk;
  Say(kHooksVerb.name,
      absl::StrFormat("%s stay off: the recording's --hooks leaves them out",
                      base::FormatCount(matching.size() - as_asked)));
  return kExitOk;
}

int RunHooks(const Arguments& arguments) {
  VerbParser parser(kHooksVerb);
  std::string action, glob, pid_text, format;
  bool quiet = false, kernel = false;
  parser.AddPositional("action", action);
  parser.AddPositional("glob", glob);
  parser.AddText("--pid", pid_text);
  parser.AddFormat(format, {"text", "json", "jsonl", "csv"});
  parser.AddFlag("--quiet", quiet);
  parser.AddFlag("--kernel", kernel);
  if (const auto status = parser.Parse(arguments)) return *status;

  if (action != "list" && action != "enable" && action != "disable") {
    return parser.UsageError(
        action.empty()
            ? "say what to do: list, enable or disable"
            : absl::StrFormat("cannot `%s` hooks, only list, enable or disable",
                              action));
  }
  if (kernel) {
    if (action != "list" || !pid_text.empty()) {
      return parser.UsageError("-k is for `hooks list` without -p");
    }
    return ListKernelHooks(glob, format);
  }
  if (pid_text.empty()) {
    return parser.UsageError(
        "-p PID is missing: hooks are those of a running process; `countrace "
        "list hooks` shows those of a trace or a program");
  }
  std::int32_t pid = 0;
  if (!absl::SimpleAtoi(pid_text, &pid) || pid <= 0) {
    return parser.UsageError(
        absl::StrFormat("-p %s: not a process id", pid_text));
  }
  if (action != "list" && glob.empty()) {
    return parser.UsageError(
        absl::StrFormat("which hooks to %s? Give a glob, '*' for all", action));
  }
  runtime::RemoveLeftFiles();
  auto process = ProcessControl::Open(pid);
  if (!process.ok()) return ReportFailure(kHooksVerb.name, process.status());
  if (action != "list") {
    return SwitchHooks(*process, glob, action == "enable", quiet);
  }
  const auto hooks = process->List();
  if (!hooks.ok()) return ReportFailure(kHooksVerb.name, hooks.status());
  if (glob.empty()) return PrintHooks(*process, *hooks, format);
  const std::vector<RunningHook> matching = Matching(*hooks, glob);
  if (matching.empty()) {
    return ReportFailure(
        kHooksVerb.name,
        absl::NotFoundError(absl::StrFormat(
            "No hook of process %d matches \"%s\" (globs are on "
            "provider:name); it has %d hooks",
            pid, glob, hooks->size())));
  }
  return PrintHooks(*process, matching, format);
}

}  // namespace

const Verb kHooksVerb = {"hooks", kHooksHelp, RunHooks};

}  // namespace countrace::cli
