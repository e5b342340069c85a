#include "rmap/hosts/merged_books.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "rmap/result/limits.h"

namespace countrace::rmap {
namespace {

// If one host does not know it, the sum is not known.
void Add(const std::optional<std::uint64_t>& more,
         std::optional<std::uint64_t>& sum) {
  if (sum && more) {
    *sum += *more;
  } else {
    sum.reset();
  }
}

void Add(const BooksDoubt& more, BooksDoubt& sum) {
  sum.wrapped_intervals += more.wrapped_intervals;
  sum.wrapped_ns += more.wrapped_ns;
  sum.went_back_intervals += more.went_back_intervals;
  sum.went_back_ns += more.went_back_ns;
  sum.other_mmcr_intervals += more.other_mmcr_intervals;
  sum.other_mmcr_ns += more.other_mmcr_ns;
  sum.cut_intervals += more.cut_intervals;
  sum.cut_counts = AddBounded(sum.cut_counts, more.cut_counts);
}

void Add(const Recording& more, Recording& sum) {
  Add(more.hooks, sum.hooks);
  Add(more.bpf, sum.bpf);
  Add(more.bpf_processes, sum.bpf_processes);
  Add(more.bpf_idle, sum.bpf_idle);
  Add(more.bpf_interrupts, sum.bpf_interrupts);
  Add(more.bpf_unattributed, sum.bpf_unattributed);
  if (sum.probes && more.probes) {
    sum.probes->ns += more.probes->ns;
    sum.probes->lo_ns += more.probes->lo_ns;
    sum.probes->hi_ns += more.probes->hi_ns;
  } else {
    sum.probes.reset();
  }
}

// Counted all the time: an estimate without an error.
ScaledBooks Exact(const Books& books) {
  return {.processes = books.processes,
          .own = books.own,
          .idle = books.idle,
          .interrupts = books.interrupts,
          .outside = books.outside,
          .unattributed = books.unattributed,
          .total = books.total,
          .standard_error = 0,
          .freedom = std::numeric_limits<double>::max(),
          .tasks = std::nullopt};
}

// Hosts err independently of each other: variances add up.
void Add(const ScaledBooks& more, ScaledBooks& sum) {
  Add(more.processes, sum.processes);
  Add(more.own, sum.own);
  Add(more.idle, sum.idle);
  Add(more.interrupts, sum.interrupts);
  Add(more.outside, sum.outside);
  Add(more.unattributed, sum.unattributed);
  sum.total += more.total;
  if (sum.standard_error && more.standard_error) {
    *sum.standard_error = std::hypot(*sum.standard_error, *more.standard_error);
  } else {
    sum.standard_error.reset();
  }
  sum.freedom = std::min(sum.freedom, more.freedom);
  sum.tasks.reset();
  sum.running_ns += more.running_ns;
  sum.enabled_ns += more.enabled_ns;
}

void Add(const Books& more, Books& sum) {
  if (sum.scaled || more.scaled) {
    ScaledBooks all = sum.scaled ? *sum.scaled : Exact(sum);
    Add(more.scaled ? *more.scaled : Exact(more), all);
    sum.scaled = all;
  }
  sum.total += more.total;
  sum.processes += more.processes;
  sum.own += more.own;
  sum.idle += more.idle;
  sum.interrupts += more.interrupts;
  sum.outside += more.outside;
  sum.unattributed += more.unattributed;
  sum.residual += more.residual;
  Add(more.doubt, sum.doubt);
  Add(more.in_segments, sum.in_segments);
  Add(more.recording, sum.recording);
}

}  // namespace

void AddBooks(const Report& host, const std::vector<std::size_t>& places,
              Report& all) {
  for (std::size_t i = 0; i < host.books.size(); ++i) {
    const Books& books = host.books[i];
    if (!books.known || places[i] == kNoEvent) continue;
    if (all.books.size() <= places[i]) {
      Books none;
      none.known = false;
      all.books.resize(places[i] + 1, none);
    }
    Books& sum = all.books[places[i]];
    if (sum.known) {
      Add(books, sum);
    } else {
      sum = books;
    }
  }
}

void AddLoss(const std::string& name, const Loss& host, Loss& all) {
  for (std::uint64_t Loss::*number :
       {&Loss::discarded_events, &Loss::overwritten, &Loss::discarded_packets,
        &Loss::clock_errors, &Loss::lost_samples, &Loss::not_joined,
        &Loss::unavailable, &Loss::went_on, &Loss::left_out_ms,
        &Loss::cut_texts, &Loss::damaged, &Loss::unfinished}) {
    all.*number += host.*number;
  }
  for (const auto& [cause, records] : host.by_cause) {
    all.by_cause[cause] += records;
  }
  for (const std::string& message : host.messages) {
    all.messages.push_back(name + ": " + message);
  }
}

}  // namespace countrace::rmap
