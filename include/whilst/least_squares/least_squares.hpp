#pragma once

/// @file
/// Nonlinear least squares with a few unknowns; the residuals are a functor of your own. With CUDA on, compile files
/// that include this with nvcc.

#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "whilst/basics/error.hpp"
#include "whilst/basics/held.hpp"
#include "whilst/least_squares/prepared_fit.hpp"

namespace whilst {

/// Fits repeatedly, from different starting points: recorded when constructed, replayed by each solve. Threads may
/// share it: see replayed_solver. Its iterations are trial points, the residual_norm of progress() is that of the best
/// one so far.
///
/// Problem is trivially copyable; its pointers are to memory of the place. It has `static constexpr int unknowns`;
/// count(), the number of residuals; `template <class S> S operator()(index_type i, const S* x) const`, residual i at
/// x, where S is a number or a dual number.
template <class T, class Problem>
class least_squares_solver : public replayed_solver {
  using prepared_type = detail::prepared_fit<T, Problem>;

 public:
  /// make_problem(place) returns the problem with its data on that place. Throws whilst::error on options out of range,
  /// on a problem without residuals and on an executor that this machine does not have.
  template <class MakeProblem>
  least_squares_solver(const MakeProblem& make_problem, least_squares_options options)
      : least_squares_solver("least_squares_solver", make_problem, options) {}

  /// x, n entries, holds the starting point and receives the best point found. Blocks. x is left unchanged if the
  /// residuals are not finite at the starting point. On a GPU the first call allocates device memory for x. Throws
  /// whilst::error if x has the wrong size or is out of bounds.
  least_squares_report solve(std::span<T> x) { return ticket_of(fit_->solve(x)).wait(); }

  /// Enqueues a fit on `stream` and returns without waiting; x is a pointer of the solver's place. A start that is out
  /// of bounds is moved to the nearest point within. Otherwise as linear_solver::enqueue, captures included.
  least_squares_ticket enqueue(stream_handle stream, T* x) { return ticket_of(fit_->enqueue(stream, nullptr, x)); }

  /// For later solves; nothing is recorded. A graph that captured a fit keeps the tolerances that it captured. Throws
  /// whilst::error on tolerances out of range.
  void set_tolerances(const least_squares_tolerances& tolerances) { fit_->set_tolerances(tolerances); }

  /// Until the turn is destroyed, other threads wait in solve() and enqueue(): hold it while you change the problem's
  /// data. Does not wait for enqueued fits, which read that data while they run. Throws whilst::error in code that a
  /// fit calls. `doing` opens the message.
  [[nodiscard]] turns::turn hold(std::string_view doing) const { return fit_->enter(doing); }

 protected:
  /// owner: what messages call the object.
  template <class MakeProblem>
  least_squares_solver(const char* owner, const MakeProblem& make_problem, const least_squares_options& options)
      : fit_(owner, std::make_unique<prepared_type>(make_problem, options)) {}
  program& recorded() const { return fit_->recorded(); }

 private:
  prepared_program& prepared() const override { return *fit_; }
  least_squares_ticket ticket_of(std::shared_ptr<ticket::state> started) const { return {std::move(started), *fit_}; }

  detail::held<prepared_type> fit_;
};

/// Residuals of a curve: model(b, x_i) - y_i, for a model with `parameters`, `variables` and operator()(b, x), like
/// those in the sources' kernels/problems/curves/curve_models.hpp. Borrows the data, in memory of the place that uses
/// it.
template <class Model>
struct curve_residuals {
  static constexpr int unknowns = Model::parameters;
  Model model;
  index_type points;
  const double* predictors;  ///< Model::variables for each point
  const double* response;

  WHILST_HD index_type count() const { return points; }
  template <class S>
  WHILST_HD S operator()(index_type i, const S* b) const {
    return model(b, predictors + i * Model::variables) - response[i];
  }
};

/// Fits a curve to points: a least_squares_solver with data of its own.
template <class T, class Model>
class curve_fit : public least_squares_solver<T, curve_residuals<Model>> {
  using base = least_squares_solver<T, curve_residuals<Model>>;

 public:
  /// predictors: Model::variables numbers per point, point by point; response: one per point, as the model returns it.
  /// Both are copied. Throws whilst::error if their sizes disagree or a value is not finite, and as
  /// least_squares_solver does.
  curve_fit(const Model& model, std::span<const double> predictors, std::span<const double> response,
            const least_squares_options& options = {})
      : curve_fit(std::make_shared<data>(), model, predictors, response, options) {}

  /// New data, with as many points, for later fits; copied, and nothing is recorded. Waits for the fits enqueued so
  /// far, but not for those of a captured graph: synchronize with its stream first. Throws whilst::error as the
  /// constructor does.
  void update_data(std::span<const double> predictors, std::span<const double> response) {
    const std::string doing = "updating the data of a curve fit";
    const turns::turn mine = this->hold(doing);
    const index_type points = checked(predictors, response);
    if (points != data_->response.size())
      throw error(
          doing,
          "there are " + std::to_string(points) + " points, and there were " + std::to_string(data_->response.size()),
          "Give as many, or make a curve_fit for them");
    this->recorded().wait();
    data_->upload(predictors, response);
  }

 private:
  struct data {
    buffer<double> predictors, response;
    void upload(std::span<const double> new_predictors, std::span<const double> new_response) {
      if (!new_predictors.empty()) predictors.upload(new_predictors.data());
      response.upload(new_response.data());
    }
  };

  curve_fit(std::shared_ptr<data> made, const Model& model, std::span<const double> predictors,
            std::span<const double> response, const least_squares_options& options)
      : base(
            "curve_fit",
            [&](place where) -> curve_residuals<Model> {
              const index_type points = checked(predictors, response);
              made->predictors = buffer<double>(where, static_cast<index_type>(predictors.size()));
              made->response = buffer<double>(where, points);
              made->upload(predictors, response);
              return {model, points, made->predictors.data(), made->response.data()};
            },
            options),
        data_(made) {
    // Runs may outlive this object's members: the program keeps what they read.
    const auto bytes = static_cast<std::size_t>(data_->predictors.bytes() + data_->response.bytes());
    program& fits = this->recorded();
    fits.keep({{.name = "data of the curve", .where = name_of(fits.where()), .bytes = bytes}}, std::move(made));
  }

  static index_type checked(std::span<const double> predictors, std::span<const double> response) {
    const std::string doing = "fitting a curve";
    if (response.empty()) throw error(doing, "there are no points", "Give some");
    if (predictors.size() != response.size() * Model::variables)
      throw error(doing,
                  "there are " + std::to_string(response.size()) + " responses and " +
                      std::to_string(predictors.size()) + " predictors",
                  "Give " + std::to_string(Model::variables) + " predictors a response");
    for (const std::span<const double>& values : {predictors, response})
      for (std::size_t i = 0; i < values.size(); ++i)
        if (!is_finite(values[i]))
          throw error(doing, "entry " + std::to_string(i) + " of the data is not finite", "Leave such points out");
    return static_cast<index_type>(response.size());
  }

  std::shared_ptr<data> data_;
};

}  // namespace whilst
