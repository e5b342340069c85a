#include "rmap/hosts/host_clocks.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "logformat/read/clock_samples.h"
#include "rmap/hosts/message_clock.h"
#include "rmap/hosts/sampled_clock.h"

namespace countrace::rmap {
namespace {

constexpr char kWays[] =
    "three ways give one: traces of the same boot; clocks that NTP or PTP "
    "keeps (`countrace info` says whether); messages that are recorded on both "
    "sides: --pairs "
    "net:send.id,net:receive.id";

class Alignment {
 public:
  Alignment(const std::vector<HostTrace>& hosts,
            const std::optional<PairsRule>& pairs)
      : hosts_(hosts), pairs_(pairs), clocks_(hosts.size()) {}

  absl::StatusOr<std::vector<HostClock>> Align(
      const logformat::ProgressCallback& progress) {
    if (const absl::Status read = Read(progress); !read.ok()) return read;
    clocks_[0] = HostClock("first");
    for (std::size_t placed = 1; placed < hosts_.size(); ++placed) {
      if (PlaceByBoot()) continue;
      const absl::Status status = PlaceNext();
      if (!status.ok()) return status;
    }
    std::vector<HostClock> clocks;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      const std::uint64_t begin = hosts_[i].reader->info().begin_ns;
      if (!clocks_[i]->is_exact() && clocks_[i]->LeastCommon(begin) == 0) {
        return BeforeTheCommonClock(i);
      }
      clocks.push_back(*clocks_[i]);
    }
    return clocks;
  }

  // After Align().
  std::vector<SentMessage> Messages() const {
    std::vector<SentMessage> all;
    const auto add = [&](std::size_t from, std::size_t to) {
      for (const auto& [value, sent] : messages_[from].sent) {
        const auto found = messages_[to].received.find(value);
        if (found == messages_[to].received.end()) continue;
        const auto& [begin_ns, end_ns, thread] = found->second;
        all.push_back(
            {value,
             {from, sent.thread, clocks_[from]->Common(sent.begin_ns)},
             {to, thread, clocks_[to]->Common(begin_ns)}});
      }
    };
    for (std::size_t from = 0; from < messages_.size(); ++from) {
      for (std::size_t to = 0; to < messages_.size(); ++to) {
        if (from != to) add(from, to);
      }
    }
    return all;
  }

 private:
  absl::Status Read(const logformat::ProgressCallback& progress) {
    for (const HostTrace& host : hosts_) {
      const auto samples = logformat::ReadClockSamples(*host.reader);
      if (!samples.ok()) return samples.status();
      const std::uint64_t end = host.reader->end_ns();
      utc_.push_back(UtcOffsetOf(*samples, end));
      uneven_ns_.push_back(
          UnevenNs(*samples, host.reader->info().begin_ns, end));
      if (samples->damage.empty()) continue;
      absl::StrAppend(&damage_, "; samples of the clock of ", host.name,
                      " are damaged, and say nothing: ", samples->damage[0]);
    }
    if (!pairs_) return absl::OkStatus();
    std::string why_none;
    for (const HostTrace& host : hosts_) {
      auto messages = MessagesOf(*host.reader, *pairs_, progress);
      if (!messages.ok()) return messages.status();
      why_none = messages->why_none;
      messages_.push_back(*std::move(messages));
    }
    const bool any = std::ranges::any_of(messages_, [](const auto& of) {
      return !of.sent.empty() || !of.received.empty();
    });
    if (any) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "--pairs ", base::EscapeName(pairs_->text),
        ": no host has such messages; in the last one, ", why_none));
  }

  bool PlaceByBoot() {
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      const auto& boot = hosts_[i].reader->info().boot_id;
      if (clocks_[i] || boot == decltype(boot){}) continue;
      for (std::size_t of = 0; of < hosts_.size(); ++of) {
        if (!clocks_[of] || hosts_[of].reader->info().boot_id != boot) continue;
        clocks_[i] = *clocks_[of];
        clocks_[i]->set_how("same boot as " + hosts_[of].name);
        return true;
      }
    }
    return false;
  }

  // What the messages of a host with those that have a clock say of its own.
  std::vector<ClockLimit> LimitsOf(std::size_t host, std::string& with) const {
    std::vector<ClockLimit> limits;
    if (!pairs_) return limits;
    for (std::size_t of = 0; of < hosts_.size(); ++of) {
      if (!clocks_[of]) continue;
      const auto orders = OrdersOf(messages_[of], messages_[host]);
      if (orders.empty()) continue;
      with += (with.empty() ? "" : ", ") + hosts_[of].name;
      for (const MessageOrder& order : orders) {
        const std::uint64_t own =
            order.from_a ? order.later_ns : order.earlier_ns;
        const std::uint64_t there =
            order.from_a ? order.earlier_ns : order.later_ns;
        limits.push_back({own, order.from_a, clocks_[of]->Common(there),
                          clocks_[of]->LeastCommon(there),
                          clocks_[of]->MostCommon(there)});
      }
    }
    return limits;
  }

  // By UTC, against the first host whose clock follows it.
  std::optional<HostClock> ByUtc(std::size_t host) const {
    for (std::size_t of = 0; of < hosts_.size() && utc_[host]; ++of) {
      if (!clocks_[of] || !utc_[of]) continue;
      HostClock clock =
          ClockByUtc(*utc_[of], *utc_[host]).Through(*clocks_[of]);
      clock.set_how("clock samples, as " + hosts_[of].name);
      return clock;
    }
    return std::nullopt;
  }

  // The host that most is known of gets its clock, by what bounds it better.
  absl::Status PlaceNext() {
    std::size_t best = hosts_.size(), without = hosts_.size();
    std::vector<ClockLimit> most;
    std::string most_with;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      if (clocks_[i]) continue;
      without = std::min(without, i);
      std::string with;
      std::vector<ClockLimit> limits = LimitsOf(i, with);
      if (best != hosts_.size() && limits.size() <= most.size()) continue;
      if (limits.empty() && !ByUtc(i)) continue;
      best = i;
      most = std::move(limits);
      most_with = std::move(with);
    }
    if (best == hosts_.size()) return NoCommonClock(without);
    clocks_[best] = ByUtc(best);
    if (most.empty()) return absl::OkStatus();
    auto clock = ClockOfMessages("messages with " + most_with, most,
                                 uneven_ns_[0] + uneven_ns_[best]);
    if (clock.ok()) {
      const std::uint64_t end = hosts_[best].reader->end_ns();
      if (!clocks_[best] ||
          clock->WithinNs(end) < clocks_[best]->WithinNs(end)) {
        clocks_[best] = *std::move(clock);
      }
      return absl::OkStatus();
    }
    if (clocks_[best]) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrFormat(
        "The clock of host %s (%s), by %d limits from messages with %s: %s",
        base::EscapeName(hosts_[best].name), PathOf(best), most.size(),
        base::EscapeName(most_with), clock.status().message()));
  }

  std::string PathOf(std::size_t host) const {
    return base::EscapeName(hosts_[host].reader->info().path);
  }

  absl::Status BeforeTheCommonClock(std::size_t host) const {
    const std::string name = base::EscapeName(hosts_[host].name);
    return absl::FailedPreconditionError(absl::StrFormat(
        "The trace of host %s (%s) begins before the clock of host %s began, "
        "the first one, whose times all are on: give %s=%s first",
        name, PathOf(host), base::EscapeName(hosts_[0].name), name,
        PathOf(host)));
  }

  absl::Status NoCommonClock(std::size_t host) const {
    std::string message = absl::StrFormat(
        "Hosts %s (%s) and %s (%s) have no clock in common: they are of "
        "different boots",
        base::EscapeName(hosts_[0].name), PathOf(0),
        base::EscapeName(hosts_[host].name), PathOf(host));
    if (pairs_) {
      absl::StrAppendFormat(
          &message, ", and of %d and %d values of --pairs none is of both",
          messages_[0].sent.size() + messages_[0].received.size(),
          messages_[host].sent.size() + messages_[host].received.size());
    }
    return absl::FailedPreconditionError(message + damage_ + "; " + kWays);
  }

  const std::vector<HostTrace>& hosts_;
  const std::optional<PairsRule>& pairs_;
  std::vector<std::optional<UtcOffset>> utc_;     // by host
  std::string damage_;                            // of samples, as a message
  std::vector<double> uneven_ns_;                 // by host
  std::vector<HostMessages> messages_;            // by host, with pairs_
  std::vector<std::optional<HostClock>> clocks_;  // by host
};

}  // namespace

absl::StatusOr<std::vector<HostClock>> AlignHosts(
    const std::vector<HostTrace>& hosts, const std::optional<PairsRule>& pairs,
    const logformat::ProgressCallback& progress,
    std::vector<SentMessage>* messages) {
  Alignment alignment(hosts, pairs);
  auto clocks = alignment.Align(progress);
  if (clocks.ok() && messages != nullptr) *messages = alignment.Messages();
  return clocks;
}

}  // namespace countrace::rmap
