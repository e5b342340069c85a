#include <array>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "cli/program/exit_status.h"
#include "cli/program/help_texts.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"
#include "cli/trace/load_processes.h"
#include "logformat/read/trace_reader.h"
#include "rmap/load/engine_address.h"
#include "rmap/load/trace_key.h"

namespace countrace::cli {
namespace {

constexpr std::uint64_t kMostBatchRows = 1'000'000;
constexpr std::uint64_t kNsOfSecond = 1'000'000'000;

struct NamedTrace {
  std::string host, path;  // host "": as recorded
};

// "HOST=TRACE"; a file that has this name is a trace.
NamedTrace NamedTraceOf(const std::string& word) {
  std::error_code error;
  const std::size_t at = word.find('=');
  if (at == word.npos || at == 0 || word.find('/') < at ||
      std::filesystem::exists(word, error)) {
    return {"", word};
  }
  return {word.substr(0, at), word.substr(at + 1)};
}

int RunLoad(const Arguments& arguments) {
  VerbParser parser(kLoadVerb);
  std::string address, password_file, cluster;
  std::vector<std::string> traces;
  std::uint64_t batch = kMostBatchRows, timeout_ns = 300 * kNsOfSecond;
  bool migrate = false, no_texts = false;
  parser.AddPositional("address", address);
  parser.AddPositionals("traces", traces);
  parser.AddText("--password-file", password_file);
  parser.AddText("--cluster", cluster);
  parser.AddNumber("--batch", batch, kMostBatchRows);
  parser.AddDuration("--timeout", timeout_ns);
  parser.AddFlag("--migrate", migrate);
  parser.AddFlag("--no-texts", no_texts);
  if (const auto status = parser.Parse(arguments)) return *status;
  const auto parsed = rmap::ParseEngineAddress(address);
  if (!parsed.ok()) {
    return parser.UsageError(std::string(parsed.status().message()));
  }
  if (!parsed->trace.empty()) {
    return parser.UsageError("#TRACE is for `report`, which reads one");
  }
  if (!cluster.empty() && parsed->kind != rmap::EngineKind::kClickHouse) {
    return parser.UsageError("--cluster is for ClickHouse: " + parsed->Shown() +
                             " is one server");
  }
  if (traces.empty()) traces = {kDefaultTrace};

  const std::string seconds =
      std::to_string((timeout_ns + kNsOfSecond - 1) / kNsOfSecond);
  std::vector<std::vector<std::string>> jobs;
  std::set<std::array<std::uint8_t, 16>> keys;
  int exit = kExitOk;
  for (const std::string& word : traces) {
    const auto [host, path] = NamedTraceOf(word);
    const auto reader = logformat::TraceReader::Open(path);
    if (!reader.ok()) {
      exit = ReportFailure(kLoadVerb.name, reader.status());
    } else if (!keys.insert(rmap::TraceKeyOf(**reader)).second) {
      Say(kLoadVerb.name,
          path + ": this trace was given twice (its UUID and end)");
    } else {
      auto& job = jobs.emplace_back(
          std::vector<std::string>{address, password_file, seconds, "load",
                                   path, host, std::to_string(batch), cluster});
      // Tables are renamed once, before others are made.
      if (migrate && jobs.size() == 1) job.emplace_back("migrate");
      if (no_texts) job.emplace_back("no-texts");
    }
  }
  int loaded = kExitOk;
  if (migrate && jobs.size() > 1) {
    loaded = RunLoaders(kLoadVerb.name, {jobs.front()});
    jobs.erase(jobs.begin());
  }
  if (loaded == kExitOk) loaded = RunLoaders(kLoadVerb.name, jobs);
  return loaded == kExitOk ? exit : loaded;
}

}  // namespace

const Verb kLoadVerb = {"load", kLoadHelp, RunLoad};

}  // namespace countrace::cli
