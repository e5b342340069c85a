#include "cli/hosts/host_traces.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/name_escape.h"
#include "cli/program/exit_status.h"
#include "cli/program/progress_bar.h"
#include "logformat/description/recorded_part.h"
#include "logformat/description/trace_directory.h"
#include "logformat/import/trace_search.h"
#include "rmap/hosts/message_pairs.h"

namespace countrace::cli {
namespace {

namespace fs = std::filesystem;

bool IsHostName(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ||
           c == '-' || c == '_';
  });
}

// `HOST=TRACE`, unless a file has that name.
std::optional<GivenHost> HostOf(const std::string& text) {
  const std::size_t equals = text.find('=');
  std::error_code error;
  if (equals == text.npos || equals + 1 == text.size() ||
      !IsHostName(std::string_view(text).substr(0, equals)) ||
      fs::exists(text, error)) {
    return std::nullopt;
  }
  return GivenHost{text.substr(0, equals), text.substr(equals + 1)};
}

// The traces in a folder that is none itself, each named by its directory.
std::vector<GivenHost> HostsIn(const std::string& folder) {
  std::vector<GivenHost> hosts;
  std::error_code error;
  if (!fs::is_directory(folder, error) ||
      logformat::ListTraceDirectory(folder).ok()) {
    return hosts;
  }
  for (const fs::directory_entry& entry :
       fs::directory_iterator(folder, error)) {
    const std::string path = entry.path().string();
    if (!entry.is_directory(error) ||
        !logformat::ListTraceDirectory(path).ok() ||
        importer::OriginOf(path) != importer::TraceOrigin::kCountrace) {
      continue;
    }
    const std::string name = entry.path().stem().string();
    if (IsHostName(name)) hosts.push_back({name, path});
  }
  std::ranges::sort(hosts, {}, &GivenHost::name);
  return hosts;
}

}  // namespace

absl::StatusOr<std::vector<GivenHost>> GivenHosts(const TraceOptions& options) {
  std::vector<GivenHost> hosts;
  std::vector<std::string> others, all = options.more_traces;
  all.insert(all.begin(), options.trace);
  if (all.size() == 1 && !HostOf(all[0])) return HostsIn(all[0]);
  std::set<std::string> names;
  for (const std::string& text : all) {
    auto host = HostOf(text);
    if (!host) {
      others.push_back(text);
    } else if (!names.insert(host->name).second) {
      return AsUsage(absl::InvalidArgumentError(absl::StrFormat(
          "two traces are of host %s: give each host one name", host->name)));
    } else {
      hosts.push_back(*std::move(host));
    }
  }
  if (hosts.empty() || others.empty()) return hosts;
  return AsUsage(absl::InvalidArgumentError(absl::StrFormat(
      "%s has no host, and %s=%s has: give each trace one, as "
      "in HOST=%s",
      base::EscapeName(others[0]), hosts[0].name,
      base::EscapeName(hosts[0].path), base::EscapeName(others[0]))));
}

std::vector<GivenRun> RunsOf(const std::vector<std::string>& traces) {
  std::vector<GivenRun> runs;
  bool goes_on = false;  // the last run, with more hosts
  for (const std::string& trace : traces) {
    const auto host = HostOf(trace);
    if (!host) {
      std::vector<GivenHost> hosts = HostsIn(trace);
      if (hosts.empty()) hosts = {{"", trace}};
      runs.push_back({trace, std::move(hosts)});
    } else if (goes_on && std::ranges::count(runs.back().hosts, host->name,
                                             &GivenHost::name) == 0) {
      runs.back().name += " " + trace;
      runs.back().hosts.push_back(*host);
    } else {
      runs.push_back({trace, {*host}});
    }
    goes_on = host.has_value();
  }
  for (GivenRun& run : runs) std::ranges::sort(run.hosts, {}, &GivenHost::name);
  return runs;
}

absl::Status CheckSameHosts(const std::vector<GivenRun>& before,
                            const std::vector<GivenRun>& after) {
  const auto names = [](const GivenRun& run) {
    std::vector<std::string> all;
    for (const GivenHost& host : run.hosts) all.push_back(host.name);
    return all;
  };
  const auto said = [&](const GivenRun& run) {
    return run.hosts[0].name.empty() ? "no host"
                                     : absl::StrJoin(names(run), ", ");
  };
  const GivenRun& first = before[0];
  for (const auto* side : {&before, &after}) {
    for (const GivenRun& run : *side) {
      if (names(run) == names(first)) continue;
      return AsUsage(absl::InvalidArgumentError(absl::StrFormat(
          "runs of the same hosts are compared: %s has %s, and %s has %s",
          base::EscapeName(first.name), said(first), base::EscapeName(run.name),
          said(run))));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<HostTraces> OpenHosts(const std::vector<GivenHost>& hosts,
                                     const std::string& pairs,
                                     TraceInput& input,
                                     std::vector<rmap::SentMessage>* messages) {
  std::optional<rmap::PairsRule> rule;
  if (!pairs.empty()) {
    auto parsed = rmap::ParsePairs(pairs);
    if (!parsed.ok()) return AsUsage(parsed.status());
    rule = *std::move(parsed);
  }
  HostTraces open;
  for (const GivenHost& host : hosts) {
    auto reader = input.Open(host.path);
    if (!reader.ok()) return reader.status();
    open.readers.push_back(*std::move(reader));
    open.traces.push_back({host.name, open.readers.back().get()});
  }
  ProgressBar progress("aligning clocks", input.show_progress());
  auto clocks =
      rmap::AlignHosts(open.traces, rule, progress.Callback(), messages);
  progress.Clear();
  if (!clocks.ok()) return clocks.status();
  open.clocks = *std::move(clocks);
  return open;
}

absl::StatusOr<HostTraces> OpenTraces(const TraceOptions& options,
                                      TraceInput& input, TimesUse times) {
  const auto hosts = GivenHosts(options);
  if (!hosts.ok()) return hosts.status();
  if (!hosts->empty()) return OpenHosts(*hosts, options.pairs, input);
  if (!options.pairs.empty()) {
    return AsUsage(absl::InvalidArgumentError(
        "--pairs is for traces of several hosts: HOST=TRACE HOST=TRACE"));
  }
  auto reader = input.Open(options.trace, times);
  if (!reader.ok()) return reader.status();
  HostTraces one;
  one.traces.push_back({options.trace, reader->get()});
  one.readers.push_back(*std::move(reader));
  return one;
}

TraceExtent ExtentOf(const HostTraces& traces) {
  TraceExtent all = ExtentOf(*traces.readers[0]);
  std::uint64_t end_ns = all.end_ns();
  for (std::size_t i = 1; i < traces.readers.size(); ++i) {
    const TraceExtent own = ExtentOf(*traces.readers[i]);
    const rmap::HostClock& clock = traces.clocks[i];
    all.begin_ns = std::min(all.begin_ns, clock.Common(own.begin_ns));
    end_ns = std::max(end_ns, clock.Common(own.end_ns()));
    all.recording_begin_ns = all.begin_ns;
    for (const std::uint64_t time_ns : own.triggers_ns) {
      all.triggers_ns.push_back(clock.Common(time_ns));
    }
  }
  all.duration_ns = end_ns - all.begin_ns;
  return all;
}

rmap::TableRange OwnRange(const HostTraces& traces, std::size_t host,
                          const rmap::TableRange& common) {
  if (traces.clocks.empty()) return common;
  const logformat::TraceReader& reader = *traces.readers[host];
  const rmap::HostClock& clock = traces.clocks[host];
  // Before its trace it may also be before its clock.
  const auto own_time = [&](std::uint64_t time_ns) {
    return time_ns < clock.Common(reader.info().begin_ns) ? 0
           : time_ns > clock.Common(reader.end_ns())
               ? rmap::TableRange().until_ns
               : clock.Own(time_ns);
  };
  return {own_time(common.from_ns), own_time(common.until_ns)};
}

absl::StatusOr<std::vector<rmap::ExportRows>> RowsOfEach(
    const HostTraces& traces, const rmap::ExportRows& rows,
    const RangeOptions& range, const std::string& table) {
  TimeRange common;
  if (range.given()) {
    const auto parsed = ParseRange(range, ExtentOf(traces));
    if (!parsed.ok()) {
      return absl::InvalidArgumentError(parsed.status().message());
    }
    common = *parsed;
  }
  std::vector<rmap::ExportRows> all(traces.readers.size(), rows);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const logformat::TraceReader& reader = *traces.readers[i];
    rmap::TableRange& own = all[i].range = {common.from_ns, common.to_ns};
    if (!range.given()) {
      own.from_ns = logformat::PartBeginNs(reader.info(), reader.end_ns());
    } else {
      own = OwnRange(traces, i, own);
    }
    if (table.empty()) continue;
    const auto fits = rmap::CheckRows(all[i], table, reader.info());
    if (!fits.ok()) return fits;
  }
  return all;
}

}  // namespace countrace::cli
