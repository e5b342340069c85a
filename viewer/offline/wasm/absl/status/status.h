// What the answering code uses of absl::Status, for wasm (viewer/README.md).
#ifndef COUNTRACE_VIEWER_OFFLINE_WASM_ABSL_STATUS_STATUS_H_
#define COUNTRACE_VIEWER_OFFLINE_WASM_ABSL_STATUS_STATUS_H_

#include <string>
#include <string_view>
#include <utility>

namespace absl {

enum class StatusCode {
  kOk,
  kInvalidArgument,
  kNotFound,
  kFailedPrecondition,
  kOutOfRange,
  kDataLoss
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string_view message)
      : code_(code), message_(message) {}
  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  std::string_view message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status OkStatus() { return {}; }
inline Status InvalidArgumentError(std::string_view message) {
  return {StatusCode::kInvalidArgument, message};
}
inline Status NotFoundError(std::string_view message) {
  return {StatusCode::kNotFound, message};
}
inline Status FailedPreconditionError(std::string_view message) {
  return {StatusCode::kFailedPrecondition, message};
}
inline Status OutOfRangeError(std::string_view message) {
  return {StatusCode::kOutOfRange, message};
}
inline Status DataLossError(std::string_view message) {
  return {StatusCode::kDataLoss, message};
}
inline bool IsNotFound(const Status& status) {
  return status.code() == StatusCode::kNotFound;
}

}  // namespace absl

#endif  // COUNTRACE_VIEWER_OFFLINE_WASM_ABSL_STATUS_STATUS_H_
