// A value that few rows have: one pointer where it is absent. Tables have a
// hundred thousand rows, and an std::optional takes its room in each.
#ifndef COUNTRACE_RMAP_RESULT_RARE_H_
#define COUNTRACE_RMAP_RESULT_RARE_H_

#include <memory>
#include <utility>

namespace countrace::rmap {

// Copies are deep, as those of an std::optional.
template <typename T>
class Rare {
 public:
  Rare() = default;
  Rare(const Rare& other)
      : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Rare(Rare&&) noexcept = default;
  Rare& operator=(const Rare& other) {
    if (this != &other) *this = Rare(other);
    return *this;
  }
  Rare& operator=(Rare&&) noexcept = default;
  Rare& operator=(T value) {
    value_ = std::make_unique<T>(std::move(value));
    return *this;
  }

  bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }
  T& operator*() { return *value_; }
  T* operator->() { return value_.get(); }

  // The value; a new one if it is absent.
  T& Write() {
    if (value_ == nullptr) value_ = std::make_unique<T>();
    return *value_;
  }
  // The value; an empty one if it is absent.
  const T& Read() const {
    static const T kEmpty;
    return value_ == nullptr ? kEmpty : *value_;
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_RESULT_RARE_H_
