#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/glob.h"
#include "cli/program/exit_status.h"
#include "cli/program/help_texts.h"
#include "cli/program/metric_options.h"
#include "cli/program/row_table.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"
#include "cli/trace/trace_input.h"
#include "logformat/description/trace_description.h"
#include "logformat/import/trace_search.h"
#include "logformat/perf_event_names.h"
#include "runtime/recorder/doctor/capabilities.h"
#include "runtime/recorder/events/event_list.h"
#include "runtime/recorder/events/vocabulary_event.h"
#include "runtime/recorder/kernel/bpf/kernel_recorder_bpf.h"
#include "runtime/recorder/kernel/functions/function_ways.h"
#include "runtime/recorder/kernel/functions/kernel_functions.h"
#include "runtime/recorder/kernel/hooks/function_exits.h"
#include "runtime/recorder/kernel/hooks/function_symbols.h"
#include "runtime/recorder/kernel/hooks/hook_spec.h"
#include "runtime/recorder/kernel/hooks/kernel_hook_request.h"
#include "runtime/recorder/kernel/hooks/probed_instruction.h"
#include "runtime/recorder/kernel/hooks/usdt_notes.h"
#include "runtime/recorder/kernel/hooks/usdt_segments.h"
#include "runtime/recorder/system/tracefs.h"

namespace countrace::cli {
namespace {

// perf_event_open() opens a dummy for it: BPF programs count it.
void CheckExecRuntime(runtime::ListedEvent& event) {
  if (!event.opens_on_cpu) return;
  const runtime::Capability bpf = runtime::ProbeBpf();
  if (bpf.status == runtime::CapabilityStatus::kOk) return;
  event.opens_on_cpu = false;
  event.why_not = "BPF programs count it, and BPF does not work: " + bpf.detail;
}

int ListEvents(const std::string& format, bool all) {
  runtime::ListEventsResult result = runtime::ListEvents();
  for (runtime::ListedEvent& event : result.events) {
    if (event.name == logformat::kExecRuntimeEvent) CheckExecRuntime(event);
  }
  RowTable table("countrace.events/1", "events",
                 {"event", "kind", "kernel", "hooks", "why_not"});
  for (const runtime::ListedEvent& event : result.events) {
    const bool opens = event.opens_on_cpu || event.opens_on_task;
    if (!opens && !all) continue;
    table.Add({event.name, std::string(runtime::EventKindName(event.kind)),
               event.opens_on_cpu, event.opens_on_task, event.why_not});
  }
  for (const std::string& message : result.messages) {
    Say(kListVerb.name, message);
  }
  const std::size_t hidden = result.events.size() - table.size();
  if (hidden > 0 && format == "text") {
    Say(kListVerb.name,
        absl::StrFormat("%d events do not open on this machine; --all shows "
                        "them with the reason",
                        hidden));
  }
  return PrintData(kListVerb.name, table.Render(format));
}

// What counts together there says `countrace doctor --model`.
int ListModel(const std::string& model, const std::string& format) {
  const auto vocabulary = runtime::LoadVocabulary(model);
  if (!vocabulary.ok()) {
    return ReportFailure(kListVerb.name, vocabulary.status());
  }
  RowTable table("countrace.model_events/1", "events",
                 {"event", "aliases", "code", "mask", "counters", "unit",
                  "group", "minimum", "description"});
  for (const logformat::VocabularyEvent& event : vocabulary->events) {
    table.Add({event.name, absl::StrJoin(event.aliases, ","),
               absl::StrFormat("0x%x", event.code),
               absl::StrFormat("0x%x", event.mask),
               absl::StrJoin(event.counters, ","),
               absl::StrJoin(event.units, ","),
               event.group ? absl::StrFormat("%d", *event.group) : "-",
               event.minimum, event.description});
  }
  return PrintData(kListVerb.name, table.Render(format));
}

int ListHooksOfTrace(TraceInput& input, const std::string& path,
                     const std::string& format) {
  const auto reader = input.Open(path, TimesUse::kNotNeeded);
  if (!reader.ok()) return ReportFailure(kListVerb.name, reader.status());
  RowTable table("countrace.hooks/1", "hooks",
                 {"hook", "id", "kind", "payload", "location"});
  for (const logformat::HookInfo& hook : (*reader)->info().hooks) {
    table.Add({hook.FullName(), std::uint64_t{hook.id},
               std::string(logformat::HookKindWord(hook)),
               logformat::PayloadTypesText(hook), hook.location});
  }
  return PrintData(kListVerb.name, table.Render(format));
}

int ListHooksOfProgram(const std::string& path, const std::string& format) {
  const auto notes = runtime::ReadUsdtNotes(path);
  if (!notes.ok()) return ReportFailure(kListVerb.name, notes.status());
  RowTable table("countrace.program_hooks/1", "hooks",
                 {"hook", "kind", "address", "arguments"});
  const runtime::UsdtSegments segments(*notes);
  for (const runtime::UsdtNote& note : *notes) {
    using Place = runtime::HookAttachment::Place;
    const runtime::UsdtSegments::Part part = segments.PartOf(note);
    const char* kind = part.place == Place::kEnter  ? "enter"
                       : part.place == Place::kExit ? "exit"
                                                    : "point";
    table.Add({absl::StrFormat("%s:%s", note.provider, part.stem),
               std::string(kind), absl::StrFormat("0x%x", note.address),
               note.arguments});
  }
  if (notes->empty()) Say(kListVerb.name, path + " contains no hook");
  return PrintData(kListVerb.name, table.Render(format));
}

// What `record --hook uprobe:FILE:FUNCTION` accepts.
int ListFunctions(const std::string& file, const std::string& glob,
                  const std::string& format) {
  const auto path = runtime::FindObjectFile(file);
  if (!path.ok()) return ReportFailure(kListVerb.name, path.status());
  const auto object = runtime::ReadFunctionSymbols(*path);
  if (!object.ok()) return ReportFailure(kListVerb.name, object.status());
  RowTable table("countrace.functions/1", "functions",
                 {"function", "kind", "offset"});
  for (const runtime::FunctionSymbol& function : object->functions) {
    if (!base::GlobMatches(glob.c_str(), function.name.c_str()) &&
        !base::GlobMatches(glob.c_str(), function.symbol.c_str())) {
      continue;
    }
    // The kernel must not have a probe on some functions ("none").
    const char* const kind =
        runtime::IsTakenForAJump(runtime::CodeAt(*path, function.offset))
            ? "none"
        : runtime::ExitsOf(*path, *object, function).is_segment() ? "segment"
                                                                  : "point";
    table.Add({function.name, std::string(kind),
               absl::StrFormat("0x%x", function.offset)});
  }
  if (object->functions.empty()) {
    Say(kListVerb.name, *path +
                            " names no function: it is stripped, and its debug "
                            "file is not installed");
  } else if (table.size() == 0) {
    Say(kListVerb.name,
        absl::StrFormat("no function of %s matches %s", *path, glob));
  }
  return PrintData(kListVerb.name, table.Render(format));
}

// What `record --hook kfunc:FUNCTION` accepts.
int ListKernelFunctions(const std::string& glob, const std::string& format) {
  auto functions = runtime::ReadKernelFunctions();
  if (!functions.ok()) {
    return ReportFailure(kListVerb.name, functions.status());
  }
  RowTable table("countrace.kernel_functions/1", "functions",
                 {"function", "module", "hook", "price_ns", "why_not"});
  std::map<runtime::FunctionWay, Cell> prices;
  for (runtime::KernelFunction& function : *functions) {
    if (!base::GlobMatches(glob.c_str(), function.name.c_str())) continue;
    const runtime::FunctionWay way = runtime::ChooseWay(function);
    const auto [price, unknown] = prices.try_emplace(way, std::monostate());
    if (unknown && way != runtime::FunctionWay::kNone) {
      const auto price_ns = runtime::PriceOfFunctionHooks(way);
      if (price_ns) price->second = std::uint64_t{*price_ns};
    }
    const char* const hook = way == runtime::FunctionWay::kTraced   ? "fentry"
                             : way == runtime::FunctionWay::kProbed ? "kprobe"
                                                                    : "none";
    table.Add({function.name, function.module.empty() ? "-" : function.module,
               std::string(hook), price->second, function.why_not});
  }
  if (table.size() == 0) {
    Say(kListVerb.name,
        absl::StrFormat("no function of this kernel matches %s (the compiler "
                        "may have inlined it)",
                        glob));
  }
  return PrintData(kListVerb.name, table.Render(format));
}

// What `record --hook usdt:FILE:PROVIDER:NAME` accepts, and makes of it.
int ListProbes(const std::string& file, const std::string& glob,
               const std::string& format) {
  const auto path = runtime::FindObjectFile(file);
  if (!path.ok()) return ReportFailure(kListVerb.name, path.status());
  const auto notes = runtime::ReadUsdtNotes(*path);
  if (!notes.ok()) return ReportFailure(kListVerb.name, notes.status());
  RowTable table("countrace.probes/1", "probes",
                 {"probe", "kind", "places", "arguments"});
  if (notes->empty()) {
    Say(kListVerb.name, *path + " contains no USDT probe");
    return PrintData(kListVerb.name, table.Render(format));
  }
  const bool with_provider = glob.find(':') != std::string::npos;
  runtime::KernelHookRequest request;
  const absl::Status status = runtime::AddDynamicHooks(
      absl::StrFormat("usdt:%s:%s%s", file, with_provider ? "" : "*:", glob),
      request);
  if (!status.ok()) return ReportFailure(kListVerb.name, status);
  for (const runtime::DynamicHook& hook : request.dynamic) {
    const bool segment = hook.kind == logformat::HookKind::kSegment;
    table.Add({absl::StrFormat("%s:%s", hook.provider, hook.name),
               std::string(segment ? "segment" : "point"),
               std::uint64_t{hook.attachments.size()},
               hook.attachments.front().arguments});
  }
  return PrintData(kListVerb.name, table.Render(format));
}

int ListTracepoints(const std::string& glob, const std::string& format) {
  const auto names = runtime::ListTracepoints(glob);
  if (!names.ok()) return ReportFailure(kListVerb.name, names.status());
  RowTable table("countrace.tracepoints/1", "tracepoints", {"tracepoint"});
  for (const std::string& name : *names) table.Add({name});
  if (names->empty()) Say(kListVerb.name, "no tracepoint matches " + glob);
  return PrintData(kListVerb.name, table.Render(format));
}

int RunList(const Arguments& arguments) {
  VerbParser parser(kListVerb);
  std::string what, format;
  TraceOptions options;
  TraceInput input(kListVerb.name, options);
  const std::string& path = options.trace;
  bool all = false;
  std::string model;
  parser.AddText("--model", model);
  parser.AddPositional("what", what);
  parser.AddTrace(options.trace);
  std::string glob;
  parser.AddPositional("glob", glob);
  parser.AddImportOptions(options);
  parser.AddFlag("--all", all);
  MetricChoice choice;
  parser.AddTexts("--rules", choice.files);
  parser.AddFormat(format, {"text", "json", "jsonl", "csv"});
  if (const auto status = parser.Parse(arguments)) return *status;

  if (what == "functions" || what == "probes") {
    if (!parser.is_given("trace")) {
      return parser.UsageError(
          absl::StrFormat("list %s of which program or library?", what));
    }
    if (glob.empty()) glob = "*";
    if (what == "functions" && path == "kernel") {
      return ListKernelFunctions(glob, format);
    }
    return what == "probes" ? ListProbes(path, glob, format)
                            : ListFunctions(path, glob, format);
  }
  if (parser.is_given("glob")) {
    return parser.UsageError("unexpected argument: " + glob);
  }
  if (what == "events") {
    if (parser.is_given("trace")) {
      return parser.UsageError("unexpected argument: " + path);
    }
    return model.empty() ? ListEvents(format, all) : ListModel(model, format);
  }
  if (what == "metrics") {
    if (parser.is_given("trace")) {
      return parser.UsageError("unexpected argument: " + path);
    }
    return ListMetrics(choice, format);
  }
  if (what == "tracepoints") {
    return ListTracepoints(parser.is_given("trace") ? path : "*", format);
  }
  if (what != "hooks") {
    return parser.UsageError(
        what.empty() ? "say what to list: events, hooks, functions, probes, "
                       "tracepoints or metrics"
                     : absl::StrFormat("cannot list `%s`, only events, hooks, "
                                       "functions, probes, tracepoints or "
                                       "metrics",
                                       what));
  }
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error) &&
      !importer::IsPerfDataFile(path) && !importer::IsListingFile(path)) {
    return ListHooksOfProgram(path, format);
  }
  return ListHooksOfTrace(input, path, format);
}

}  // namespace

const Verb kListVerb = {"list", kListHelp, RunList,
                        runtime::FileRights::kRecord};

}  // namespace countrace::cli
