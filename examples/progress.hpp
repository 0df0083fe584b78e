#pragma once
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace examples {

/// A bar on the terminal's standard error, gone when it goes out of scope. In a pipe or a file it shows nothing.
class progress {
 public:
  progress(std::string label, std::uint64_t total)
      : label_(std::move(label)), total_(total), visible_(total > 0 && isatty(STDERR_FILENO) == 1) {}
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress() {
    if (visible_) fmt::print(stderr, "\r\x1b[K");
  }

  void show(std::uint64_t done) {
    if (!visible_ || ++calls_ % 64 != 0) return;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds{100};
    constexpr std::uint64_t width = 40;
    const auto filled = static_cast<int>(width * done / total_);
    fmt::print(stderr, "\r{:<22} [{:<{}}] {:>3} %", label_, std::string(static_cast<std::size_t>(filled), '#'), width,
               100 * done / total_);
    std::fflush(stderr);
  }

 private:
  std::string label_;
  std::uint64_t total_;
  bool visible_;
  std::uint64_t calls_ = 0;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace examples
