#include <time.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "logformat/loss.h"
#include "runtime/recorder/session/recording.h"

namespace countrace::runtime {

CpuSpent Recording::Spent() const {
  timespec process{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &process);
  return {kernel_->SpentNs().value_or(0),
          static_cast<std::uint64_t>(process.tv_sec) * 1'000'000'000 +
              static_cast<std::uint64_t>(process.tv_nsec)};
}

void Recording::BeginBudget() {
  if (options_.max_cpu == 0 || kernel_ == nullptr) return;
  const bool has_calls = std::ranges::any_of(
      options_.kernel_segments, [](const std::string& word) {
        return word == "syscalls" || word == "faults";
      });
  budget_.emplace(options_.max_cpu, has_calls, !options_.samples.empty(),
                  MonotonicNs(), Spent());
}

void Recording::KeepBudget() {
  const Thinning before = budget_->thinning();
  const Thinning now = budget_->Pass(MonotonicNs(), Spent());
  if (!budget_told_ && !budget_->Exceeded().empty()) {
    budget_told_ = true;
    Notice(budget_->Exceeded());
  }
  if (now == before) return;
  StoreLeftOut();  // before the streams say so
  if (const absl::Status thinned = kernel_->Thin(now); !thinned.ok()) {
    AddNotRecorded({logformat::Unavailable(absl::StrFormat(
        "System calls and faults were left out for longer than --max-cpu "
        "needs: %s",
        base::StatusText(thinned)))});
  }
}

void Recording::StoreLeftOut() const {
  if (!budget_) return;
  auto left_out = budget_->LeftOut(kernel_->statistics().left_out_samples);
  if (!left_out) return;
  std::vector<logformat::NotRecorded> so_far = not_recorded_;
  so_far.push_back(*std::move(left_out));
  StoreNotRecorded(so_far);
}

void Recording::DescribeBudget(const KernelRecorderStatistics& statistics) {
  if (!budget_) return;
  if (auto left_out = budget_->LeftOut(statistics.left_out_samples)) {
    AddNotRecorded({*std::move(left_out)});
  }
  if (std::string exceeded = budget_->Exceeded(); !exceeded.empty()) {
    result_.messages.push_back(std::move(exceeded));
  }
}

}  // namespace countrace::runtime
