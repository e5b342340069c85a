#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/pending_file.h"
#include "cli/program/exit_status.h"
#include "cli/program/verb.h"
#include "cli/stat/stat_live.h"
#include "runtime/recorder/doctor/capabilities.h"
#include "runtime/recorder/session/stop_signals.h"
#include "runtime/recorder/system/monotonic_clock.h"
#include "runtime/recorder/system/thread_times.h"
#include "viewer/server/http/http_server.h"
#include "viewer/server/http/query_string.h"
#include "viewer/server/http/request_guard.h"

namespace countrace::cli {
namespace {

using runtime::ThreadSumsReader;

constexpr std::uint64_t kFileEveryNs = 15'000'000'000;
constexpr char kThrottled[] = "countrace_throttled_seconds_total";
constexpr std::pair<const char*, const char*> kHelp[] = {
    {"countrace_on_cpu_seconds_total", "Time of threads on the CPU."},
    {"countrace_run_queue_wait_seconds_total",
     "Time in which threads were runnable and on no CPU, added up."},
    {kThrottled, "The part of it that began as a CPU quota was used up."},
    {"countrace_blocked_seconds_total",
     "Time in which threads were blocked, added up. other: idle, stopped."},
    {"countrace_discarded_events_total", "What waits and blocked times lack."},
    {"countrace_own_cpu_seconds_total",
     "CPU time of countrace. kernel: its BPF programs, by each 64th run."},
};

// Prometheus' text format 0.0.4.
absl::StatusOr<std::string> MetricsText(const ThreadSumsReader& read) {
  auto sums = read();
  if (!sums.ok()) return sums.status();
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  (*sums)["countrace_own_cpu_seconds_total{part=\"process\"}"] =
      double(used.tv_sec) + 1e-9 * double(used.tv_nsec);
  std::string text;
  for (const auto& [name, help] : kHelp) {
    auto at = sums->lower_bound(name);
    if (at == sums->end() || !at->first.starts_with(name)) continue;
    absl::StrAppendFormat(&text, "# HELP %s %s\n# TYPE %s counter\n", name,
                          help, name);
    for (; at != sums->end() && at->first.starts_with(name); ++at) {
      absl::StrAppendFormat(&text, "%s %.16g\n", at->first, at->second);
    }
  }
  return text;
}

// Waits until `until_ns`. Returns: whether a signal came that ends us.
bool Ended(runtime::StopSignals& signals, std::uint64_t until_ns) {
  pollfd set{signals.descriptor(), POLLIN, 0};
  while (!signals.Take()) {
    const std::uint64_t now_ns = runtime::MonotonicNs();
    if (now_ns >= until_ns) return false;
    const std::uint64_t wait_ms = (until_ns - now_ns) / 1'000'000 + 1;
    poll(&set, 1, static_cast<int>(std::min<std::uint64_t>(wait_ms, 1 << 30)));
  }
  return true;
}

absl::Status ToFile(const ThreadSumsReader& read, const StatCommandLine& line,
                    runtime::StopSignals& signals, std::uint64_t end_ns) {
  const auto every_ns = line.every_ns != 0 ? line.every_ns : kFileEveryNs;
  for (bool ended = false;;) {
    base::PendingFile file(line.prometheus);
    absl::Status status = file.Create();
    const auto text = MetricsText(read);
    if (status.ok()) status = text.ok() ? file.Append(*text) : text.status();
    // node_exporter is another user.
    if (status.ok()) ::chmod(file.temporary().c_str(), 0644);
    if (status.ok()) status = file.Commit();
    const std::uint64_t now_ns = runtime::MonotonicNs();
    if (!status.ok() || ended || now_ns >= end_ns) return status;
    ended = Ended(signals, std::min(now_ns + every_ns, end_ns));
  }
}

// `guard`: null if all names of the address are served.
viewer::HttpResponse Answer(const ThreadSumsReader& read,
                            const viewer::RequestGuard* guard,
                            const viewer::HttpRequest& request) {
  constexpr char kPlain[] = "text/plain; charset=utf-8";
  if (guard != nullptr &&
      guard->Judge(request) == viewer::RequestGuard::Verdict::kForeign) {
    return {403, kPlain, "Only for 127.0.0.1 and localhost\n", {}};
  }
  if (viewer::ParseTarget(request.target).path != "/metrics") {
    return {404, kPlain, "The metrics are at /metrics\n", {}};
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return {405, kPlain, "Only GET\n", {{"Allow", "GET, HEAD"}}};
  }
  const auto text = MetricsText(read);
  if (!text.ok())
    return {500, kPlain, std::string(text.status().message()), {}};
  return {200, "text/plain; version=0.0.4; charset=utf-8", *text, {}};
}

absl::Status ByHttp(const ThreadSumsReader& read, std::string address,
                    std::uint16_t port, runtime::StopSignals& signals,
                    std::uint64_t end_ns) {
  if (address.empty()) address = "127.0.0.1";
  const bool guarded = address == "127.0.0.1";
  const bool brackets = address.starts_with('[') && address.ends_with(']');
  // One thread reads.
  auto server = viewer::HttpServer::Listen(
      port, {.threads = 1},
      brackets ? address.substr(1, address.size() - 2) : address);
  if (!server.ok()) return server.status();
  const auto guard = viewer::RequestGuard::Create((*server)->port());
  if (!guard.ok()) return guard.status();
  std::thread serving([&] {
    const auto answer = [&](const viewer::HttpRequest& request) {
      return Answer(read, guarded ? &*guard : nullptr, request);
    };
    (*server)->Run(answer, /*stop_on_signals=*/false);
  });
  Say(kStatVerb.name,
      absl::StrFormat("metrics at http://%s:%d/metrics; Ctrl-C ends", address,
                      (*server)->port()));
  Ended(signals, end_ns);
  (*server)->Stop();
  serving.join();
  return absl::OkStatus();
}

}  // namespace

int StatPrometheus(const VerbParser& parser, const StatCommandLine& line) {
  const std::string& where = line.prometheus;
  const bool to_file = where.ends_with(".prom");
  const std::size_t colon = where.rfind(':');
  std::uint32_t port = 0;
  if (!to_file &&
      (line.every_ns != 0 || colon == where.npos ||
       !absl::SimpleAtoi(where.substr(colon + 1), &port) || port > 65535)) {
    return parser.UsageError(
        "--prometheus: want FILE.prom, as node_exporter reads no other names, "
        "or :PORT or ADDRESS:PORT, without --every: scrape_interval of "
        "Prometheus sets how often");
  }
  runtime::StopSignals signals({});
  const auto read = runtime::OpenThreadSums();
  const auto first = read.ok() ? (*read)() : read.status();
  if (!first.ok()) {
    const std::string why = base::StatusText(first.status()) +
                            runtime::KernelRecordsRemedy(first.status(), false);
    return ReportFailure(kStatVerb.name, {first.status().code(), why});
  }
  if (!first->contains(kThrottled)) {
    Say(kStatVerb.name,
        std::string(kThrottled) +
            " is left out: a kernel with CONFIG_CFS_BANDWIDTH has quotas");
  }
  const std::uint64_t end_ns = line.duration_ns == 0
                                   ? ~std::uint64_t{0}
                                   : runtime::MonotonicNs() + line.duration_ns;
  const absl::Status served =
      to_file ? ToFile(*read, line, signals, end_ns)
              : ByHttp(*read, where.substr(0, colon),
                       static_cast<std::uint16_t>(port), signals, end_ns);
  return served.ok() ? kExitOk : ReportFailure(kStatVerb.name, served);
}

}  // namespace countrace::cli
