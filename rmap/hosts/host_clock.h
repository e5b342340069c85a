// A host's clock against the one that the tables of several hosts share: that
// of the first host.
//
//   common = own + offset + drift * (own - base)
//
// What is known of offset and drift is a convex set, kept as its corners: the
// interval of a time is that of the corners' lines. Thread: any.
#ifndef COUNTRACE_RMAP_HOSTS_HOST_CLOCK_H_
#define COUNTRACE_RMAP_HOSTS_HOST_CLOCK_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace countrace::rmap {

// A clock is so much ahead at HostClock's base, besides the whole offset, and
// runs faster by the drift (1e-6: 1 ppm).
struct ClockLine {
  double offset_ns = 0, drift = 0;

  double At(double since_base_ns) const {
    return offset_ns + drift * since_base_ns;
  }
};

class HostClock {
 public:
  // The common clock, or one that is the same: of the same boot.
  explicit HostClock(std::string how) : how_(std::move(how)) {}
  // `corners`: of what is possible, at least one; `chosen` is in it.
  HostClock(std::string how, std::uint64_t base_ns, std::int64_t offset_ns,
            ClockLine chosen, std::vector<ClockLine> corners);

  // ns on the common clock; monotonic.
  std::uint64_t Common(std::uint64_t own_ns) const;
  // The own time at which the common clock shows that: the inverse of Common(),
  // within 1 ns.
  std::uint64_t Own(std::uint64_t common_ns) const;
  // Common(own_ns) is at most this far from the truth; 0: exact.
  std::uint64_t WithinNs(std::uint64_t own_ns) const;
  // The truth is between the two.
  std::uint64_t LeastCommon(std::uint64_t own_ns) const;
  std::uint64_t MostCommon(std::uint64_t own_ns) const;

  bool is_exact() const { return corners_.empty(); }
  // How it is known: "same boot", "messages with a".
  const std::string& how() const { return how_; }
  void set_how(std::string how) { how_ = std::move(how); }
  double drift() const { return chosen_.drift; }
  // The truth is between the two.
  double least_drift() const;
  double most_drift() const;

  // This clock on that of `other`'s common one, where this one's common clock
  // is the own clock of `other`.
  HostClock Through(const HostClock& other) const;

 private:
  std::uint64_t Shifted(std::uint64_t own_ns, double by_ns) const;
  double SinceBase(std::uint64_t own_ns) const;

  std::string how_;
  std::uint64_t base_ns_ = 0;
  std::int64_t offset_ns_ = 0;
  ClockLine chosen_;
  std::vector<ClockLine> corners_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_HOSTS_HOST_CLOCK_H_
