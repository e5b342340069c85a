#include "runtime/recorder/session/cpu_budget.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace countrace::runtime {
namespace {

constexpr double kSecondNs = 1e9;

double Seconds(std::uint64_t ns) { return static_cast<double>(ns) / kSecondNs; }

double PerCent(std::uint64_t spent_ns, std::uint64_t of_ns) {
  return 100 * Seconds(spent_ns) / Seconds(std::max<std::uint64_t>(1, of_ns));
}

}  // namespace

CpuBudget::CpuBudget(double share, bool has_calls, bool has_samples,
                     std::uint64_t now_ns, const CpuSpent& spent)
    : share_(share),
      has_calls_(has_calls),
      most_(has_samples ? Thinning::kCallsAndSamples : Thinning::kCalls),
      second_ns_(share * kSecondNs),
      begin_ns_(now_ns),
      now_ns_(now_ns),
      spent_(spent),
      credit_ns_(second_ns_) {}

Thinning CpuBudget::Pass(std::uint64_t now_ns, const CpuSpent& spent) {
  const std::uint64_t ns = now_ns - now_ns_;
  const CpuSpent more = {spent.bpf_ns - spent_.bpf_ns,
                         spent.process_ns - spent_.process_ns};
  now_ns_ = now_ns;
  spent_ = spent;
  if (thinning_ != Thinning::kNothing) thinned_ns_ += ns;
  if (thinning_ == Thinning::kCallsAndSamples) without_samples_ns_ += ns;
  credit_ns_ = std::min(credit_ns_ + share_ * static_cast<double>(ns) -
                            static_cast<double>(more.sum()),
                        second_ns_);
  if (thinning_ == most_ && credit_ns_ < least_ns_) {
    forgiven_ns_ += least_ns_ - credit_ns_;
    credit_ns_ = least_ns_;
    exceeded_ns_ += ns;
    exceeded_.bpf_ns += more.bpf_ns;
    exceeded_.process_ns += more.process_ns;
  }
  // Possible outcomes: as it was; one step more; one step less.
  const Thinning before = thinning_;
  switch (thinning_) {
    case Thinning::kNothing:
      if (credit_ns_ >= 0) break;
      thinning_ = Thinning::kCalls;
      calls_credit_ns_ = credit_ns_;
      ++stretches_;
      break;
    case Thinning::kCalls:
      if (credit_ns_ >= second_ns_) {
        thinning_ = Thinning::kNothing;
      } else if (thinning_ != most_ &&
                 credit_ns_ < calls_credit_ns_ - second_ns_) {
        thinning_ = Thinning::kCallsAndSamples;
      }
      break;
    case Thinning::kCallsAndSamples:
      if (credit_ns_ < 0) break;
      thinning_ = Thinning::kCalls;
      calls_credit_ns_ = credit_ns_;
      break;
  }
  // What was overdrawn before is paid back.
  if (thinning_ == most_ && before != most_) {
    least_ns_ = credit_ns_ - second_ns_;
  }
  return thinning_;
}

std::optional<logformat::NotRecorded> CpuBudget::LeftOut(
    std::uint64_t samples) const {
  std::string what;
  if (has_calls_ && stretches_ != 0) {
    what = absl::StrFormat(
        "system calls and faults as segments for %.3f s, in %d stretches",
        Seconds(thinned_ns_), stretches_);
  }
  if (without_samples_ns_ != 0) {
    absl::StrAppendFormat(&what, "%s%d samples, in %.3f s",
                          what.empty() ? "" : ", and ", samples,
                          Seconds(without_samples_ns_));
  }
  if (what.empty()) return std::nullopt;
  const std::uint64_t ns = has_calls_ ? thinned_ns_ : without_samples_ns_;
  return logformat::NotRecorded{
      logformat::kLeftOut, std::max<std::uint64_t>(1, ns / 1'000'000),
      absl::StrFormat("Left out for --max-cpu %g%%, of %.3f s: %s; raise it, "
                      "or record less with --kernel and --sample",
                      100 * share_, Seconds(now_ns_ - begin_ns_), what)};
}

std::string CpuBudget::Exceeded() const {
  if (forgiven_ns_ <= second_ns_) return "";
  return absl::StrFormat(
      "--max-cpu %g%% did not hold for %.3f s of %.3f s: what is never left "
      "out (dispatches, forks, wake-ups, interrupts, hooks that were named) "
      "alone took %.2f%% of a CPU, BPF programs %.2f%%, the recorder %.2f%%",
      100 * share_, Seconds(exceeded_ns_), Seconds(now_ns_ - begin_ns_),
      PerCent(exceeded_.sum(), exceeded_ns_),
      PerCent(exceeded_.bpf_ns, exceeded_ns_),
      PerCent(exceeded_.process_ns, exceeded_ns_));
}

}  // namespace countrace::runtime
