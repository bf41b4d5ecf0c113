// How one thread says that it waits, and looks for arrivals itself.
#pragma once

namespace musubi::fabric {

// Ends with this object. `Attended` has begin_looks() and end_looks(), as of Fabric and JointSleep.
template <typename Attended>
class Looks {
 public:
  // Null: there is nobody to tell.
  explicit Looks(Attended* attended) noexcept : attended_(attended) {}
  Looks(const Looks&) = delete;
  ~Looks() {
    if (has_told_) attended_->end_looks();
  }
  // Again: no effect.
  void begin() noexcept {
    if (has_told_ || attended_ == nullptr) return;
    has_told_ = true;
    attended_->begin_looks();
  }

 private:
  Attended* const attended_;
  bool has_told_ = false;
};

}  // namespace musubi::fabric
