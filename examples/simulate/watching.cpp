#include "simulate/watching.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace simulate {
namespace {

using namespace gangsched;

std::uint64_t nanoseconds() noexcept {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace

observer* watching::begins(cluster& on, std::size_t pods) {
  bar_.emplace("scheduling", pods);
  if (wants_log_) {
    auto begun = record::recorder::start(on);
    if (!begun) throw std::runtime_error{begun.error().message()};
    log_.emplace(*std::move(begun));
  }
  if (wants_metrics_) metrics_.emplace(report::metrics_options{.clock = nanoseconds});
  if (wants_trace_) trace_.emplace(on, report::trace_options{.clock = nanoseconds});
  if (!wants_metrics_ && !wants_trace_) return nullptr;
  all_.emplace(std::initializer_list<observer*>{metrics_ ? &*metrics_ : nullptr, trace_ ? &*trace_ : nullptr});
  return &*all_;
}

void watching::heard(std::uint64_t pods) { bar_->show(pods); }

void watching::ends(const scheduler& by, const cluster& on) {
  if (metrics_) metrics = metrics_->text(by, on);
  if (trace_) trace = trace_->json();
  if (!log_) return;
  if (auto done = log_->write_digest(); !done) throw std::runtime_error{done.error().message()};
  const std::vector<std::byte> written = log_->take();
  log.assign(reinterpret_cast<const char*>(written.data()), written.size());
}

void watching::leaves() noexcept {
  bar_.reset();
  all_.reset();
  log_.reset();
  trace_.reset();
  metrics_.reset();
}

}  // namespace simulate
