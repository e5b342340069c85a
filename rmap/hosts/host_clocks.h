// The clocks of several hosts on that of the first one, each by the best way
// that there is:
//
//   same boot       the same clock, exactly
//   clock samples   both follow a common time (NTP, PTP), with its bound
//   messages        --pairs, with what their order allows
//
// A host without a way to the first has one through others. Thread: one.
#ifndef COUNTRACE_RMAP_HOSTS_HOST_CLOCKS_H_
#define COUNTRACE_RMAP_HOSTS_HOST_CLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/progress.h"
#include "logformat/read/trace_reader.h"
#include "rmap/hosts/host_clock.h"
#include "rmap/hosts/message_pairs.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

struct HostTrace {
  std::string name;
  logformat::TraceReader* reader = nullptr;  // not null
};

// A message that one host sent and another received.
struct SentMessage {
  struct End {
    std::size_t host;
    ThreadIndex thread;
    std::uint64_t time_ns;  // on the common clock
  };
  std::string value;
  End sent, received;
};

// One clock for each of `hosts`. `messages`, unless null, gets those of
// `pairs`, in no order. Errors: of reading; FAILED_PRECONDITION: a host has no
// clock in common with the others: names the ways to get one; INVALID_ARGUMENT:
// no host has the hooks of `pairs`.
absl::StatusOr<std::vector<HostClock>> AlignHosts(
    const std::vector<HostTrace>& hosts, const std::optional<PairsRule>& pairs,
    const logformat::ProgressCallback& progress,
    std::vector<SentMessage>* messages = nullptr);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_HOSTS_HOST_CLOCKS_H_
