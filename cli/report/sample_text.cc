#include "cli/report/sample_text.h"

#include "absl/strings/str_format.h"
#include "base/text/quantity_format.h"
#include "logformat/sample_points.h"

namespace countrace::cli {

std::string SampleAmountText(const std::string& event, double value) {
  const bool clock = event.starts_with("cpu-clock") ||
                     event.starts_with("task-clock") ||
                     logformat::IsOffCpu(event);
  return clock ? base::FormatNanoseconds(value) : base::FormatShortCount(value);
}

std::string SampleEstimateText(const std::string& event,
                               const rmap::SampledAmount& amount) {
  if (amount.hits == 0) return "-";
  return (amount.exact ? "" : "~") +
         SampleAmountText(event, static_cast<double>(amount.value));
}

std::string SampleShareText(const rmap::SampledAmount& amount) {
  if (amount.hits == 0) return "-";
  if (amount.exact) return absl::StrFormat("%.1f %%", amount.share * 100);
  return absl::StrFormat("~%.1f %% [%.1f, %.1f]", amount.share * 100,
                         amount.share_lo * 100, amount.share_hi * 100);
}

}  // namespace countrace::cli
