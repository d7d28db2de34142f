#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <vector>

#include "solvers/linear/automatic/prepared_methods.hpp"

namespace whilst {
namespace {

/// What a solve leaves, added to what those before it left. Both labels: "cg".
void append(report_fields& all, const std::string& label, const report_fields& then, const std::string& label_of_then,
            index_type history_capacity) {
  const index_type before = all.iterations;
  for (const history_record& record : then.history)
    if (record.iteration > 0) all.history.push_back({before + record.iteration, record.residual_norm});
  while (static_cast<index_type>(all.history.size()) > history_capacity) {
    std::vector<history_record>& history = all.history;
    for (std::size_t k = 1; 2 * k < history.size(); ++k) history[k] = history[2 * k];
    history.resize((history.size() + 1) / 2);
  }
  all.choice += "; then " + label_of_then + ", since " + label + " ended with " + std::string(name(all.reason)) +
                " after " + std::to_string(before) + " iterations";
  all.reason = then.reason;
  all.method = then.method;
  all.preconditioner = then.preconditioner;
  all.preconditioner_choice = then.preconditioner_choice;
  all.executor = then.executor;
  if (!then.note.empty()) all.note += (all.note.empty() ? "" : "; ") + then.note;
  all.residual_norm = then.residual_norm;
  all.iterations += then.iterations;
  all.solve_seconds += then.solve_seconds;
  all.loop_seconds += then.loop_seconds;
  all.setup_seconds += then.setup_seconds;
}

}  // namespace

/// A solve that may go on: what it has found so far, and whose turn it is.
template <class T>
class prepared_methods<T>::course {
 public:
  course(prepared_methods& of, solve_vectors<T> vectors)
      : of_(of),
        vectors_(std::move(vectors)),
        settings_(of.chosen().settings()),
        order_(of.attempts_.order()),
        digits_(order_.size(), 0) {
    if (is_by_attempts()) best_.assign(vectors_.x().begin(), vectors_.x().end());
    if (!of_.hooks_.until || !(settings_.deadline < 1e8)) return;
    const auto left = std::chrono::duration<double>(settings_.deadline);
    *of_.hooks_.until = began_ + std::chrono::duration_cast<clock::duration>(left);
  }
  ~course() {
    if (of_.hooks_.until) *of_.hooks_.until = clock::time_point::max();
    of_.running().desk().announce_launch(false);
    of_.running_ = of_.chosen_.load();
    of_.chosen().desk().count_from(0);
  }
  course(const course&) = delete;
  course& operator=(const course&) = delete;

  report run() {
    last_ = start(of_.chosen(), settings_, vectors_);
    all_ = ticket(last_).wait().fields();
    const bool knows_start = !all_.history.empty() && all_.history.front().iteration == 0;
    least_ = knows_start ? all_.history.front().residual_norm : HUGE_VAL;
    assess(all_);
    for (std::string label = this->label(all_); prepared_solve<T>* const then = next_if_any();
         label = this->label(all_)) {
      prepared_solve<T>& ended = of_.running();
      then->desk().announce_launch(true);
      of_.running_ = then;
      // Recording it may have taken a while, and nothing was running that a cancel could have stopped.
      if (ended.desk().is_cancelled(*last_)) {
        all_.reason = reason::cancelled;
        break;
      }
      last_ = start(*then, left(), vectors_);
      const report_fields now = ticket(last_).wait().fields();
      append(all_, label, now, this->label(now), settings_.history_capacity);
      assess(now);
    }
    if (is_by_attempts() && converged(all_.reason)) adopt();
    return report(std::move(all_));
  }

 private:
  bool is_by_attempts() const { return !of_.attempts_.empty(); }
  const solver_attempt& attempt() const { return of_.attempts_[order_[turn_]]; }
  std::string label(const report_fields& ended) const {
    return is_by_attempts() ? attempt().pair.method + " with " + attempt().pair.preconditioner : ended.method;
  }
  double elapsed() const { return std::chrono::duration<double>(clock::now() - began_).count(); }
  /// The settings, with what is left of the limits.
  linear_solver_options left() const {
    linear_solver_options now = settings_;
    now.max_iterations = std::max(index_type{0}, settings_.max_iterations - all_.iterations);
    now.deadline = std::max(0.0, settings_.deadline - elapsed());
    return now;
  }
  /// The attempt's share of the iterations, as long as others are left; 0 for none.
  index_type share() const { return is_by_attempts() && turn_ + 1 < order_.size() ? attempt().most_iterations : 0; }

  /// Runs one within these limits.
  std::shared_ptr<ticket::state> start(prepared_solve<T>& solve, linear_solver_options limits,
                                       solve_vectors<T>& vectors) {
    const linear_solver_options before = solve.settings();
    if (share() > 0) limits.max_iterations = std::min(share(), limits.max_iterations);
    if (limits == before) return vectors.solve(solve);
    struct until_it_is_launched {
      prepared_solve<T>& solve;
      linear_solver_options before;
      ~until_it_is_launched() { solve.set_settings(before); }
    } const ends{solve, before};
    solve.set_settings(limits);
    return vectors.solve(solve);
  }

  /// An x of before.
  void put(const std::vector<T>& x) {
    std::copy(x.begin(), x.end(), vectors_.x().begin());
    vectors_.put_x();
  }

  /// After an attempt that ended so: is that true, has it got on, and is its x better than what it began with?
  void assess(const report_fields& ended) {
    if (!is_by_attempts()) return;
    const index_type iterations = ended.iterations;
    const bool has_ended_by_itself = ended.reason != reason::cancelled && ended.reason != reason::deadline &&
                                     (ended.reason != reason::iteration_limit || iterations == share());
    verify();
    const double residual = all_.residual_norm, before = std::isfinite(least_) ? least_ : all_.rhs_norm;
    digits_[turn_] = std::log10(before / std::max(residual, 1e-300));
    if (!std::isfinite(digits_[turn_])) digits_[turn_] = 0;
    if (has_ended_by_itself && !converged(all_.reason) && !(digits_[turn_] >= 1))
      of_.attempts_.note_failed(order_[turn_]);
    if (residual <= least_) {
      least_ = residual;
      std::copy(vectors_.x().begin(), vectors_.x().end(), best_.begin());
    } else {
      put(best_);
      if (std::isfinite(least_)) all_.residual_norm = least_;
    }
  }

  /// Where rounding hides the residual: finds it in extended precision, and corrects an x that seemed to be there.
  void verify() {
    rounding_ = 0;
    if (all_.rhs_norm == 0) return;
    const bool was_stopped = all_.reason == reason::cancelled || all_.reason == reason::deadline;
    const bool is_near = converged(all_.reason) || all_.reason == reason::attainable_accuracy;
    // The last digit of a residual in T may be in doubt where it is just below the tolerance.
    const double tolerance = std::max(settings_.rtol * all_.rhs_norm, settings_.atol), allowed = tolerance * (1 + 1e-6);
    // Of one that rounding seems to keep up, how much of it rounding is decides whether others are tried.
    const double hidden_below = all_.reason == reason::attainable_accuracy ? 0 : tolerance;
    constexpr int most_corrections = 3;
    std::vector<T> r, d, before;
    for (int k = 0;; ++k) {
      if (!of_.hooks_.may_be_hidden(vectors_.x(), hidden_below)) return;
      const checked_residual found = of_.hooks_.check(vectors_.b(), vectors_.x(), r);
      const double norm = found.norm;
      if (!is_near && !(std::isfinite(norm) && std::isfinite(all_.residual_norm))) return;
      if (k > 0 && !(norm < all_.residual_norm)) {  // the correction did harm
        put(before);
        break;
      }
      all_.residual_norm = norm;
      rounding_ = found.rounding;
      if (was_stopped || (!is_near && norm > allowed)) return;
      if (norm <= allowed) {
        if (!converged(all_.reason))
          all_.reason = tolerance > settings_.atol ? reason::converged_rtol : reason::converged_atol;
        return;
      }
      linear_solver_options limits = left();
      if (k == most_corrections || !(norm < all_.rhs_norm) || limits.max_iterations == 0 || !(limits.deadline > 0))
        break;
      limits.rtol = 0.5 * tolerance / norm;
      limits.atol = 0;
      const std::span<T> x = vectors_.x();
      before.assign(x.begin(), x.end());
      d.assign(x.size(), T(0));
      of_.running().desk().count_from(all_.iterations);
      solve_vectors<T> of_correction{std::span<const T>(r), std::span<T>(d)};
      const report_fields corrected = ticket(start(of_.running(), limits, of_correction)).wait().fields();
      all_.iterations += corrected.iterations;
      all_.solve_seconds += corrected.solve_seconds;
      all_.loop_seconds += corrected.loop_seconds;
      if (corrected.reason == reason::cancelled || corrected.reason == reason::deadline) {
        all_.reason = corrected.reason;
        return;
      }
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += d[i];
      vectors_.put_x();
    }
    all_.reason = reason::attainable_accuracy;
  }

  prepared_solve<T>* next_if_any() {
    try {
      return next();
    } catch (const std::exception& problem) {  // memory, mostly: what the last method found counts still
      all_.choice += std::string("; then none: ") + problem.what();
      return nullptr;
    }
  }
  /// The one that goes on, ready to run; null if there is none.
  prepared_solve<T>* next() {
    if (all_.iterations >= settings_.max_iterations) return nullptr;
    if (elapsed() >= settings_.deadline) {
      if (is_by_attempts() && goes_on_after(all_, attempt(), rounding_)) all_.reason = reason::deadline;
      return nullptr;
    }
    prepared_solve<T>* const then = is_by_attempts() ? next_attempt() : next_method();
    if (!then) return nullptr;
    pass_monitor_on(*then);
    then->desk().count_from(all_.iterations);
    return then;
  }
  void pass_monitor_on(prepared_solve<T>& then) {
    launch_desk& monitored = of_.chosen().desk();
    if (&monitored == &then.desk()) return;  // the pair to begin with may return, without its limit
    iteration_monitor::callback tell;
    if (monitored.is_monitored())
      tell = [&monitored](const progress& now) {
        if (const auto monitor = monitored.monitor()) (*monitor)(now);
      };
    then.desk().set_monitor(std::move(tell));
  }
  prepared_solve<T>* next_method() {
    const char* const method = successor_of(all_);
    return method ? of_.made({method, of_.preconditioner_}) : nullptr;
  }
  prepared_solve<T>* next_attempt() {
    if (!goes_on_after(all_, attempt(), rounding_)) return nullptr;
    for (std::size_t following = turn_ + 1; following < order_.size(); ++following) {
      prepared_solve<T>* const there = of_.attempt(order_[following], all_.choice);
      if (elapsed() >= settings_.deadline) {
        all_.reason = reason::deadline;
        return nullptr;
      }
      if (!there) continue;
      turn_ = following;
      return there;
    }
    return nullptr;
  }

  /// The attempt that has taken most digits off the residual begins the next solve.
  void adopt() {
    const auto most = static_cast<std::size_t>(std::max_element(digits_.begin(), digits_.end()) - digits_.begin());
    const std::size_t k = order_[most];
    if (k == of_.attempts_.first() || all_.iterations == 0) return;
    const solver_pair& pair = of_.attempts_[k].pair;
    of_.attempts_.begin_with(k);
    of_.begin_with(*of_.made(pair),
                   pair.method + " with " + pair.preconditioner + ", since it has taken most digits off before");
  }

  prepared_methods& of_;
  solve_vectors<T> vectors_;
  linear_solver_options settings_;
  clock::time_point began_ = clock::now();
  std::vector<std::size_t> order_;  ///< of the attempts
  std::size_t turn_ = 0;
  std::vector<double> digits_;  ///< that each took off the residual
  std::vector<T> best_;         ///< the best x so far
  double least_ = HUGE_VAL;     ///< its residual's norm, if known
  double rounding_ = 0;         ///< see checked_residual; 0 if not known
  report_fields all_;
  std::shared_ptr<ticket::state> last_;
};

template <class T>
report prepared_methods<T>::solve(std::span<const T> b, std::span<T> x) {
  if (!is_automatic()) return ticket(chosen().solve(b, x)).wait();
  const turns_of_all mine = enter("solving a linear system");
  std::vector<T> kept;  // of b, if x shares its memory
  const std::less<const T*> before;
  if (before(b.data(), x.data() + x.size()) && before(x.data(), b.data() + b.size()))
    b = kept = std::vector<T>(b.begin(), b.end());
  return course(*this, solve_vectors<T>(b, x)).run();
}
template <class T>
report prepared_methods<T>::solve(CUstream_st* stream, const T* b, T* x) {
  const std::string_view doing = "solving a linear system";
  if (!is_automatic()) return ticket(chosen().solve(doing, stream, b, x)).wait();
  const turns_of_all mine = enter(doing);
  chosen().require_vectors(doing, stream, b, x);  // before the host reads them
  return course(*this,
                solve_vectors<T>(chosen().recorded().where(), stream, b, chosen().b_entries(), x, chosen().x_entries()))
      .run();
}

template report prepared_methods<float>::solve(std::span<const float>, std::span<float>);
template report prepared_methods<double>::solve(std::span<const double>, std::span<double>);
template report prepared_methods<float>::solve(CUstream_st*, const float*, float*);
template report prepared_methods<double>::solve(CUstream_st*, const double*, double*);

}  // namespace whilst
