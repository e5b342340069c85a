// What the answering code uses of absl::StatusOr, for wasm (viewer/README.md).
#ifndef COUNTRACE_VIEWER_OFFLINE_WASM_ABSL_STATUS_STATUSOR_H_
#define COUNTRACE_VIEWER_OFFLINE_WASM_ABSL_STATUS_STATUSOR_H_

#include <optional>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"

namespace absl {

template <typename T>
class [[nodiscard]] StatusOr {
 public:
  StatusOr(Status status) : status_(std::move(status)) {}
  template <typename U = T>
  requires std::is_convertible_v<U&&, T> &&
      (!std::is_same_v<std::remove_cvref_t<U>, StatusOr>)&&(
          !std::is_same_v<std::remove_cvref_t<U>, Status>)StatusOr(U&& value)
      : value_(std::in_place, std::forward<U>(value)) {}
  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }
  const T& operator*() const& { return *value_; }
  T& operator*() & { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  const T* operator->() const { return &*value_; }
  T* operator->() { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace absl

#endif  // COUNTRACE_VIEWER_OFFLINE_WASM_ABSL_STATUS_STATUSOR_H_
