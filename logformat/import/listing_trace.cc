#include "logformat/import/listing_trace.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "logformat/description/listing_source.h"
#include "logformat/packet_layout.h"

namespace countrace::importer {
namespace {

using logformat::CountersReason;
using logformat::CpuEvent;

constexpr std::uint64_t kBeginNs = 1'000'000'000;
constexpr std::size_t kMostNotes = 100;

template <typename T>
void Store(const T& value, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

void Append(TraceOutput& output, OutputStream& cpu, CpuEvent event,
            std::uint64_t time_ns, const std::string& body) {
  output.Append(cpu, static_cast<std::uint16_t>(event), time_ns,
                std::as_bytes(std::span(body)));
}

void Dump(TraceOutput& output, OutputStream& cpu, CountersReason reason,
          std::uint64_t time_ns, std::uint32_t tid,
          const std::vector<std::uint64_t>& counts) {
  std::string body;
  Store(static_cast<std::uint32_t>(reason), body);
  Store(tid, body);
  for (const std::uint64_t count : counts) Store(count, body);
  Append(output, cpu, CpuEvent::kCounters, time_ns, body);
}

}  // namespace

absl::Status WriteListing(const Listing& listing, TraceOutput& output) {
  logformat::TraceInfo& info = output.description().info;
  info.scope = logformat::SessionScope::kSystem;
  info.command = listing.command;
  info.source = listing.tool;
  info.source += logformat::kListingSource;
  info.cpu_events = listing.events;
  info.begin_ns = kBeginNs;
  // The same for each interval is one note.
  for (const std::string& note : listing.not_known) {
    if (info.not_known.size() < kMostNotes &&
        std::find(info.not_known.begin(), info.not_known.end(), note) ==
            info.not_known.end()) {
      info.not_known.push_back(note);
    }
  }
  if (listing.not_known.size() > kMostNotes &&
      info.not_known.size() == kMostNotes) {
    info.not_known.emplace_back("more, of which only the first are named");
  }
  info.listing = listing.text;
  info.not_known.emplace_back(
      "when its threads ran: each CPU is shown with one thread, all the time");
  if (!listing.has_times) {
    info.not_known.push_back(
        "how long it took (the listing has no time): it is shown as 1 ns, and "
        "no rate by time is right");
  }
  const std::vector<std::uint64_t> zeros(listing.events.size(), 0);
  std::int32_t pid = 0;
  for (std::size_t i = 0; i < listing.rows.size(); ++i) {
    const Listing::Row& row = listing.rows[i];
    const bool last = i + 1 == listing.rows.size();
    const bool others = last && listing.has_not_listed;
    OutputStream& cpu = output.Cpu(row.cpu);
    // A thread for each CPU: the CPUs run at the same time.
    const std::int32_t tid = 1 + row.cpu;
    if (i == 0 || row.cpu != listing.rows[i - 1].cpu) {
      ++info.cpus;
      if (pid == 0 || others) pid = tid;
      logformat::StateRecord state{};
      state.pid = pid;
      state.tid = tid;
      const std::string& comm = others ? "not listed" : listing.tool;
      comm.copy(state.comm, sizeof(state.comm) - 1);
      std::string body;
      Store(state, body);
      Append(output, cpu, CpuEvent::kProcessState, kBeginNs,
             body.substr(sizeof(state.header)));
      Dump(output, cpu, CountersReason::kBegin, kBeginNs,
           static_cast<std::uint32_t>(tid), zeros);
    }
    const bool ends = last || listing.rows[i + 1].cpu != row.cpu;
    Dump(output, cpu, ends ? CountersReason::kEnd : CountersReason::kTick,
         kBeginNs + std::max<std::uint64_t>(row.time_ns, 1),
         static_cast<std::uint32_t>(tid), row.counts);
  }
  return output.status();
}

}  // namespace countrace::importer
