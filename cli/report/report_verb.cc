// More than 400 lines: one verb, and what each of its options excludes.
#include <unistd.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/posix/output_width.h"
#include "base/posix/temporary_directory.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_parse.h"
#include "cli/hosts/host_traces.h"
#include "cli/program/exit_status.h"
#include "cli/program/gating_options.h"
#include "cli/program/help_texts.h"
#include "cli/program/interruption.h"
#include "cli/program/range_options.h"
#include "cli/program/terminal.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"
#include "cli/report/report_given.h"
#include "cli/report/report_metrics.h"
#include "cli/report/report_over_time.h"
#include "cli/report/report_request.h"
#include "cli/report/report_samples.h"
#include "cli/report/report_slowest.h"
#include "cli/report/report_tables.h"
#include "cli/report/report_tree.h"
#include "cli/trace/load_processes.h"
#include "rmap/load/engine_address.h"
#include "rmap/report/report_names.h"

namespace countrace::cli {
namespace {

constexpr std::uint64_t kMostSlowest = 100'000;

// Options that ReportRequest has in another form.
struct ReportOptions {
  TraceOptions trace;
  std::string by, group_by, where, given, count, format, color;
  std::string function, password_file;
  std::vector<std::string> columns;
  std::vector<std::string> marks;
  std::vector<std::string> slowest;  // N, SEGMENT
  std::uint64_t slowest_calls = 0;
  std::uint64_t rows = 20;
  bool bounds = false, fail_on_loss = false;
  bool wide = false, validate = false, without_in = false;

  bool samples() const;
  bool call_tree() const;  // of samples
  bool over_time() const { return by == "time" || by == "phase"; }
  // Processes, added up.
  bool by_owner() const {
    return by == "user" || by == "cgroup" || by == "host";
  }
};

// Tables of samples.
const std::map<std::string, rmap::SampleBy>& SampleTables() {
  using rmap::SampleBy;
  static const auto& tables = *new std::map<std::string, SampleBy>{
      {"function", SampleBy::kFunction},
      {"dso", SampleBy::kDso},
      {"address", SampleBy::kAddress},
      {"line", SampleBy::kLine},
      {"source", SampleBy::kFile},
      {"instruction", SampleBy::kInstruction},
      {"instruction-class", SampleBy::kInstructionClass},
      {"function,instruction", SampleBy::kFunctionInstruction},
      {"calltree", SampleBy::kCallTree},
      {"callees", SampleBy::kCallTree},
      {"callers", SampleBy::kCallers},
      {"data", SampleBy::kData},
      {"data-page", SampleBy::kDataPage},
      {"data-address", SampleBy::kDataAddress},
      {"data-source", SampleBy::kDataSource}};
  return tables;
}

bool ReportOptions::samples() const { return SampleTables().contains(by); }

bool ReportOptions::call_tree() const {
  return by == "calltree" || by == "callees" || by == "callers";
}

// What a row is for.
void ChooseRows(const ReportOptions& options, ReportRequest& request) {
  const rmap::ReportBy by = request.render.by;
  const bool json = request.render.format == rmap::ReportFormat::kJson ||
                    request.render.format == rmap::ReportFormat::kJsonLines;
  rmap::WantedRows& rows = request.rows;
  rows.preemptors = by == rmap::ReportBy::kPreemptor ||
                    (by == rmap::ReportBy::kDefault && json);
  rows.samples = by == rmap::ReportBy::kWaker;
  const bool of_owner = options.by_owner();
  request.group_by = of_owner ? options.by : options.group_by;
  const std::string& group = request.group_by;
  const bool threads = group == "thread" || !request.thread.empty();
  const bool wakers =
      by == rmap::ReportBy::kWaker || by == rmap::ReportBy::kDefault;
  if (threads && wakers) rows.wakers_of = rmap::RowsOf::kThread;
  if (!threads && !group.empty()) {
    rows.preemptors_of = rmap::RowsOf::kProcess;
  }
  const bool have_threads = by == rmap::ReportBy::kThread ||
                            (threads && (by == rmap::ReportBy::kWaker ||
                                         by == rmap::ReportBy::kPreemptor));
  // Else each row has one value of its own.
  if (group != "thread" && (group != "process" || have_threads)) {
    request.rows_by = group;
  }
}

void AddOptions(VerbParser& parser, ReportOptions& options,
                ReportRequest& request) {
  parser.AddReadTrace(options.trace);
  std::vector<std::string> tables = rmap::NamesOf(rmap::ReportTables());
  tables.insert(tables.end(), {"time", "phase", "cgroup", "user", "host"});
  for (const auto& [name, by] : SampleTables()) tables.push_back(name);
  parser.AddChoice("--by", options.by, tables);
  parser.AddFlag("--fold-recursion", request.rows.fold_recursion);
  parser.AddText("--group-by", options.group_by);
  parser.AddDuration("--every", request.every_ns);
  parser.AddText("--pairs", request.pairs);
  parser.AddText("--password-file", options.password_file);
  parser.AddText("--process", request.process);
  parser.AddText("--thread", request.thread);
  parser.AddText("--segment", request.segment);
  parser.AddText("--function", options.function);
  AddRangeOptions(parser, request.range);
  parser.AddTwoTexts("--slowest", options.slowest);
  parser.AddText("--where", options.where);
  parser.AddText("--given", options.given);
  parser.AddText("--sort", request.sort);
  parser.AddNumber("--rows", options.rows, ~std::uint64_t{0});
  parser.AddFlag("--bounds", options.bounds);
  parser.AddFlag("--wide", options.wide);
  parser.AddFlag("--validate", options.validate);
  parser.AddFlag("--no-in", options.without_in);
  parser.AddTexts("--columns", options.columns);
  parser.AddText("--count", options.count);
  parser.AddTexts("--mark", options.marks);
  parser.AddFlagWithText("--metrics", "*", request.metrics.glob);
  parser.AddTexts("--metric", request.metrics.rules);
  parser.AddTexts("--rules", request.metrics.files);
  parser.AddTexts("--with", request.metrics.traces);
  parser.AddText("--tree", request.metrics.tree);
  parser.AddFormat(options.format,
                   {"text", "json", "jsonl", "csv", "svg", "pmcount"});
  parser.AddColor(options.color);
  parser.AddFailOnLoss(options.fail_on_loss);
  parser.AddNoProgress(options.trace.no_progress);
}

// Errors: INVALID_ARGUMENT: there are no tables of such a range.
absl::Status CheckRange(const VerbParser& parser,
                        const ReportRequest& request) {
  const RangeOptions& range = request.range;
  const absl::Status checked = CheckRangeOptions(parser, range);
  if (!checked.ok()) return checked;
  if (!range.given()) return absl::OkStatus();
  if (!request.metrics.traces.empty()) {
    return absl::InvalidArgumentError(
        "--with compares whole traces: leave out --from, --to and --at");
  }
  return absl::OkStatus();
}

// Errors: INVALID_ARGUMENT: no number of calls, or a choice among other rows.
absl::Status CheckSlowest(ReportOptions& options) {
  if (options.slowest.empty()) return absl::OkStatus();
  const auto calls = base::ParseInteger(options.slowest[0]);
  if (options.slowest.size() != 2 || !calls || *calls == 0 ||
      *calls > kMostSlowest) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--slowest %s: want how many calls, 1 to %d, then the segment: "
        "--slowest 10 server:handle",
        base::EscapeName(options.slowest[0]), kMostSlowest));
  }
  options.slowest_calls = *calls;
  return absl::OkStatus();
}

// Kinds of tables that have rows and columns of their own.
struct OwnTables {
  bool chosen;
  std::initializer_list<const char*> without;
  const char* why;
};

// Errors: INVALID_ARGUMENT: the table does not have what the option chooses.
absl::Status CheckTable(const VerbParser& parser, const ReportOptions& options,
                        const ReportRequest& request) {
  const bool metrics = request.metrics.wanted();
  const bool tree = !request.metrics.tree.empty();
  const std::set<std::string> owners = {"thread", "process", "comm", "user",
                                        "cgroup"};
  const OwnTables all[] = {
      {request.sort.empty(), {"--sort"}, "it needs the name of a field"},
      // Visible without the trace; of rows of a table, rmap::where has the
      // rest.
      {!owners.contains(options.group_by) && options.by.empty(),
       {"--group-by"},
       "without --by it takes process, comm, user or cgroup"},
      {!owners.contains(options.group_by) && options.samples(),
       {"--group-by"},
       "of samples it takes thread, process, comm, user or cgroup"},
      {!options.slowest.empty(),
       {"--by", "--process", "--thread", "--sort", "--columns", "--metrics",
        "--metric", "--rules", "--with", "--tree", "--group-by",
        "--fold-recursion", "--bounds", "--rows"},
       "--slowest is a table of its own, of single calls: leave it out"},
      {!options.given.empty(),
       {"--by", "--process", "--thread", "--where", "--slowest", "--sort",
        "--columns", "--metrics", "--metric", "--rules", "--with", "--tree",
        "--group-by", "--fold-recursion", "--bounds", "--rows"},
       "--given is a table of its own, of calls: leave it out; --segment "
       "chooses their segments"},
      {!options.over_time(), {"--every"}, "it needs --by time or --by phase"},
      {!options.over_time() && options.given.empty(),
       {"--segment"},
       "it needs --by time, --by phase or --given"},
      {options.over_time() && !tree,
       {"--sort", "--columns", "--group-by", "--fold-recursion", "--metrics",
        "--metric", "--rules"},
       "--by time and phase have a row for each interval, in the order of "
       "time, of all call paths: leave it out; --process, --thread, --segment "
       "and --where choose what is in them"},
      {metrics && !tree,
       {"--sort", "--columns", "--group-by", "--fold-recursion"},
       "metrics have columns of their own, and no sums of rows: leave it out; "
       "--process, --thread and --where choose rows"},
      {tree,
       {"--sort", "--group-by", "--fold-recursion", "--bounds", "--metrics"},
       "a tree keeps its order, and intervals are columns: leave it out"},
      {tree && options.by == "phase", {"--by"}, "--tree has no phases"},
      {tree && options.over_time(),
       {"--with", "--process", "--thread", "--segment", "--where", "--from",
        "--to", "--at"},
       "--tree --by time is of the whole trace: leave it out"},
      {options.format == "pmcount",
       {"--by", "--tree", "--metrics", "--metric", "--rules", "--where",
        "--process", "--thread", "--columns", "--sort", "--from", "--to",
        "--at", "--slowest", "--given", "--with", "--bounds", "--rows",
        "--count"},
       "--format pmcount is the whole listing: leave it out"},
      {options.format == "svg",
       {"--columns", "--rows"},
       "a picture has the whole tree: leave it out"},
      {options.format == "svg" && !tree,
       {"--format"},
       "svg is a picture of --tree: add it"},
      {!metrics,
       {"--with"},
       "it is for metrics; add --metric, --rules or --tree"}};
  for (const OwnTables& table : all) {
    if (!table.chosen) continue;
    for (const char* option : table.without) {
      if (!parser.is_given(option)) continue;
      return absl::InvalidArgumentError(
          absl::StrFormat("%s: %s", option, table.why));
    }
  }
  if (options.by_owner() && !options.group_by.empty()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--by %s is --by process --group-by %s: leave out --group-by",
        options.by, options.by));
  }
  return absl::OkStatus();
}

// Errors: INVALID_ARGUMENT: an option that tables of samples do not have.
absl::Status CheckSamples(const VerbParser& parser,
                          const ReportOptions& options) {
  if (parser.is_given("--function") && !options.call_tree()) {
    return absl::InvalidArgumentError(
        "--function needs --by calltree, --by callees or --by callers");
  }
  if (options.call_tree() && options.by != "calltree" &&
      options.function.empty()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--by %s needs --function NAME, a glob: whose %s?",
                        options.by, options.by));
  }
  if (options.validate &&
      (!options.samples() ||
       SampleTables().at(options.by) >= rmap::SampleBy::kData)) {
    return absl::InvalidArgumentError(
        "--validate is for tables of samples by code: --by function, for "
        "example");
  }
  if (options.without_in && (!options.samples() || options.call_tree())) {
    return absl::InvalidArgumentError(
        "--no-in is for tables of samples with the column `in`: --by function, "
        "for example");
  }
  if (!options.samples()) return absl::OkStatus();
  if (parser.is_given("--fold-recursion") && !options.call_tree()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--fold-recursion is for call paths: --by calltree, "
                        "callees or callers, not --by %s",
                        options.by));
  }
  for (const char* option : {"--where", "--sort"}) {
    if (!parser.is_given(option) || !options.call_tree()) continue;
    return absl::InvalidArgumentError(absl::StrFormat(
        "--by %s keeps its tree: %s is for --by function", options.by, option));
  }
  for (const char* option :
       {"--metrics", "--metric", "--rules", "--with", "--tree", "--bounds"}) {
    if (!parser.is_given(option)) continue;
    return absl::InvalidArgumentError(absl::StrFormat(
        "--by %s is a table of samples: leave out %s (--group-by thread has "
        "rows for each thread; intervals are columns)",
        options.by, option));
  }
  return absl::OkStatus();
}

// Errors: INVALID_ARGUMENT: what needs several hosts, or one.
absl::Status AddHosts(const ReportOptions& options, ReportRequest& request) {
  auto hosts = GivenHosts(options.trace);
  if (!hosts.ok()) return hosts.status();
  request.hosts = *std::move(hosts);
  if (request.hosts.empty()) {
    const bool by_host = options.by == "host" || options.group_by == "host";
    if (!by_host && request.pairs.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s is of several hosts: give each trace one, as in a=a.ctf b=b.ctf, "
        "or a folder of traces",
        by_host ? "--by host" : "--pairs"));
  }
  if (options.samples() || options.over_time() ||
      !request.given.steps.empty() || options.format == "pmcount") {
    return absl::InvalidArgumentError(
        "of several hosts there are tables, metrics and --slowest; samples, "
        "--by time and phase and --given are of one trace: leave out the "
        "others, or ask their tables: countrace query 'SELECT ...'");
  }
  return absl::OkStatus();
}

// Errors: INVALID_ARGUMENT, wrong usage that is visible without the trace.
absl::Status CompleteRequest(const VerbParser& parser,
                             const ReportOptions& options,
                             ReportRequest& request) {
  const MetricChoice& metrics = request.metrics;
  if (metrics.wanted()) {
    const absl::Status status = AddChosenRules(metrics, request.rules);
    if (!status.ok()) return status;
  }
  if (const auto problem =
          ParseGatingOptions(options.count, options.marks, request.gating.count,
                             request.gating.marks)) {
    return absl::InvalidArgumentError(*problem);
  }
  if (parser.is_given("--where")) {
    auto parsed = rmap::where::ParseWhere(options.where);
    if (!parsed.ok()) return parsed.status();
    request.where = *std::move(parsed);
  }
  if (parser.is_given("--given")) {
    auto parsed = rmap::where::ParseWhere(options.given, /*given=*/true);
    if (!parsed.ok()) return parsed.status();
    request.given = *std::move(parsed);
  }
  std::vector<std::string> columns;
  for (const std::string& list : options.columns) {
    for (const auto part : absl::StrSplit(list, ',', absl::SkipEmpty())) {
      columns.emplace_back(part);
    }
  }
  if (const absl::Status range = CheckRange(parser, request); !range.ok()) {
    return range;
  }
  request.trace = options.trace.trace;
  request.metrics.picture = options.format == "svg";
  const bool listing = options.format == "pmcount";
  request.render = {.format = rmap::ReportFormats().at(
                        listing || metrics.picture ? "text" : options.format),
                    .max_rows = options.rows,
                    .bounds = options.bounds,
                    .columns = columns,
                    .color = UseColor(options.color),
                    .width = options.wide ? base::kAnyWidth
                                          : base::OutputWidth(STDOUT_FILENO)};
  if (!options.over_time()) {
    if (options.by_owner()) {
      request.render.by = rmap::ReportBy::kProcess;
    } else if (!options.by.empty() && !options.samples()) {
      request.render.by = rmap::ReportTables().at(options.by);
    }
  } else if (!parser.is_given("--rows")) {
    request.render.max_rows = 0;
  }
  if ((options.call_tree() || !metrics.tree.empty()) &&
      !parser.is_given("--rows")) {
    request.render.max_rows = 0;  // small branches are left out
  }
  ChooseRows(options, request);
  return AddHosts(options, request);
}

// Errors: INVALID_ARGUMENT: `request.trace` is a database, or in one, which has
// the rows of tables, and not what the option needs.
absl::Status CheckStored(const VerbParser& parser, const ReportOptions& options,
                         const ReportRequest& request) {
  if (!rmap::IsEngineAddress(request.trace) &&
      !rmap::IsDatabase(request.trace)) {
    return absl::OkStatus();
  }
  std::string needs;
  for (const char* option :
       {"--slowest", "--given", "--from", "--to", "--at", "--count", "--mark",
        "--fold-recursion", "--map"}) {
    if (parser.is_given(option)) needs = option;
  }
  if (options.samples() || options.over_time()) needs = "--by " + options.by;
  if (options.format == "pmcount") needs = "--format pmcount";
  if (!options.trace.more_traces.empty()) needs = "a report of several traces";
  if (needs.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s needs the records of a trace, and %s has the rows of its tables: "
      "report the trace itself",
      needs, request.trace));
}

absl::StatusOr<ReportAnswer> Answer(const ReportOptions& options,
                                    const ReportRequest& request) {
  if (!options.slowest.empty()) {
    return ReportSlowest(request, options.slowest_calls, options.slowest[1],
                         options.format);
  }
  if (!request.given.steps.empty()) {
    return ReportGiven(request, options.format);
  }
  if (options.samples()) {
    // Half of a per cent: what the tree is for is above that.
    constexpr double kLeast = 0.005;
    return ReportSamples(request,
                         {.table = {.by = SampleTables().at(options.by),
                                    .group_by = options.group_by,
                                    .without_in = options.without_in},
                          .function = options.function,
                          .least_share = options.rows == 0 ? 0 : kLeast,
                          .validate = options.validate});
  }
  if (options.format == "pmcount") return ReportListing(request);
  if (!request.metrics.tree.empty()) {
    return ReportTree(request, options.over_time());
  }
  if (options.over_time()) {
    return ReportOverTime(request, /*phases=*/options.by == "phase");
  }
  return request.metrics.wanted() ? ReportMetrics(request)
                                  : ReportTables(request);
}

int RunReport(const Arguments& arguments) {
  VerbParser parser(kReportVerb);
  ReportOptions options;
  ReportRequest request;
  AddOptions(parser, options, request);
  if (const auto status = parser.Parse(arguments)) return *status;
  absl::Status complete = CheckTable(parser, options, request);
  complete.Update(CheckSlowest(options));
  complete.Update(CheckSamples(parser, options));
  complete.Update(CompleteRequest(parser, options, request));
  complete.Update(CheckStored(parser, options, request));
  if (!complete.ok()) {
    return parser.UsageError(std::string(complete.message()));
  }

  std::unique_ptr<base::TemporaryDirectory> fetched;
  if (rmap::IsEngineAddress(request.trace)) {
    auto made = base::TemporaryDirectory::Create(kReportVerb.name);
    if (!made.ok()) return ReportFailure(kReportVerb.name, made.status());
    fetched = *std::move(made);
    const std::string file = fetched->path() + "/report.db";
    const int status = FetchReportTables(kReportVerb.name, request.trace,
                                         options.password_file, file);
    if (status != kExitOk) return status;
    request.trace = file;
  }
  const InterruptionGuard guard;
  TraceInput input(kReportVerb.name, options.trace);
  request.input = &input;
  const auto answer = Answer(options, request);
  if (!answer.ok() && IsUsage(answer.status())) {
    return parser.UsageError(std::string(answer.status().message()));
  }
  if (!answer.ok()) return ReportFailure(kReportVerb.name, answer.status());
  if (answer->interrupted) {
    Say(kReportVerb.name,
        absl::StrFormat("interrupted: what follows is of the %d records that "
                        "were read until then, not of the whole trace",
                        answer->records));
    return PrintData(kReportVerb.name, answer->text, kExitInterrupted);
  }
  const bool lossy = options.fail_on_loss && answer->has_loss;
  const bool wrong = options.validate && answer->periods_disagree;
  return PrintData(kReportVerb.name, answer->text,
                   lossy   ? kExitLoss
                   : wrong ? kExitRegression
                           : kExitOk);
}

}  // namespace

const Verb kReportVerb = {"report", kReportHelp, RunReport};

}  // namespace countrace::cli
