// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/factorization/ilu.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "solvers/linear/automatic/choose_method.hpp"
#include "solvers/linear/factorization/triangle_solves.hpp"

namespace whilst::factorization {
namespace {

template <class Target, class Source>
buffer<Target> placed(place where, const std::vector<Source>& source) {
  const std::vector<Target> converted(source.begin(), source.end());
  return buffer<Target>(where, static_cast<index_type>(converted.size()), converted.data());
}

template <class T>
class placed_triangle {
 public:
  placed_triangle() = default;
  placed_triangle(place where, const triangle_levels& of)
      : levels_(static_cast<int>(of.levels())),
        level_offsets_(placed<std::int32_t>(where, of.level_offsets)),
        row_offsets_(placed<std::int32_t>(where, of.rows.offsets)),
        columns_(placed<std::int32_t>(where, of.rows.columns)),
        values_(placed<T>(where, of.rows.values)) {
    while (lanes_ < 32 && lanes_ * of.rows.rows() < of.rows.nonzeros()) lanes_ *= 2;
  }
  triangle_view<T> view() const {
    return {levels_, lanes_, level_offsets_.data(), row_offsets_.data(), columns_.data(), values_.data()};
  }
  index_type bytes() const {
    return level_offsets_.bytes() + row_offsets_.bytes() + columns_.bytes() + values_.bytes();
  }

 private:
  int levels_ = 0, lanes_ = 1;
  buffer<std::int32_t> level_offsets_, row_offsets_, columns_;
  buffer<T> values_;
};

template <class T>
class placed_factors {
 public:
  placed_factors() = default;
  placed_factors(place where, const factors& of)
      : L_(where, of.L),
        U_(where, of.U),
        source_(placed<std::int32_t>(where, of.source)),
        between_(placed<std::int32_t>(where, of.between)),
        target_(placed<std::int32_t>(where, of.target)),
        row_scale_(placed<double>(where, of.row_scale)),
        inverse_pivot_(placed<double>(where, of.inverse_pivot)),
        column_scale_(placed<double>(where, of.column_scale)) {}
  factors_view<T> view() const {
    return {L_.view(),      U_.view(),         source_.data(),        between_.data(),
            target_.data(), row_scale_.data(), inverse_pivot_.data(), column_scale_.data()};
  }
  index_type bytes() const {
    return L_.bytes() + U_.bytes() + source_.bytes() + between_.bytes() + target_.bytes() + row_scale_.bytes() +
           inverse_pivot_.bytes() + column_scale_.bytes();
  }

 private:
  placed_triangle<T> L_, U_;
  buffer<std::int32_t> source_, between_, target_;
  buffer<double> row_scale_, inverse_pivot_, column_scale_;
};

template <class T>
struct note_operator_factor {
  const double* factor;
  factors_view<T>* of;
  WHILST_HD void operator()() const { of->operator_factor = *factor; }
};

template <class T>
class ilu final : public matrix_preconditioner<T> {
 public:
  ilu(place where, const csr_matrix<T>& pattern, const T* values, factors_kind kind, const ilu_options& options,
      const factorization_bounds& bounds)
      : where_(where), kind_(kind), options_(options), bounds_(bounds), view_(where, 1) {
    values_changed(pattern, values);
    if (bounds.hold_once) bounds_ = {.until = bounds.until};
  }

  void values_changed(const csr_matrix<T>& pattern, const T* values) override {
    if (where_.on_host()) {
      factor(sparse_rows_of(pattern, values));
    } else {
      const csr_matrix<T> on_host = copied_to_host(pattern, values, where_);
      factor(sparse_rows_of(on_host, on_host.values_data()));
    }
  }

  void take_memory(index_type n, workspace& memory) override {
    y_ = memory.take<double>(n);
    w_ = memory.take<double>(n);
  }
  bool made_from_operator() const override { return true; }
  void prepare_by_itself(recorder& run, const double* factor) const override {
    run.once("the scale of M", note_operator_factor<T>{factor, view_.data()});
  }
  void apply(recorder& run, const T* r, T* z) const override {
    run.team("z = U^-1 L^-1 r", 1, solve_triangles<T>{view_.data(), r, z, y_, w_});
  }

  index_type bytes() const override { return factors_.bytes() + view_.bytes(); }
  std::string description() const override { return description_; }

 private:
  void factor(const sparse_rows& A) {
    const factors made = factorize(A, kind_, options_, bounds_);
    const index_type most = std::max(made.L.rows.nonzeros(), made.U.rows.nonzeros());
    if (most > std::numeric_limits<std::int32_t>::max())
      throw error("making incomplete factors", "one has " + std::to_string(most) + " nonzeros",
                  "Set a smaller fill or a larger drop");
    placed_factors<T> now(where_, made);
    const factors_view<T> view = now.view();
    view_.upload(&view);
    factors_ = std::move(now);
    description_ = made.description;
  }

  place where_;
  factors_kind kind_;
  ilu_options options_;
  factorization_bounds bounds_;
  placed_factors<T> factors_;
  buffer<factors_view<T>> view_;  ///< of the factors: where steps find them
  std::string description_;
  double *y_ = nullptr, *w_ = nullptr;
};

}  // namespace
}  // namespace whilst::factorization

namespace whilst {

template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_ilu(place where, const csr_matrix<T>& pattern, const T* values,
                                                   factorization::factors_kind kind, const ilu_options& options,
                                                   const factorization::factorization_bounds& bounds) {
  return std::make_unique<factorization::ilu<T>>(where, pattern, values, kind, options, bounds);
}
template std::unique_ptr<matrix_preconditioner<WHILST_NUMBER>> make_ilu(place, const csr_matrix<WHILST_NUMBER>&,
                                                                        const WHILST_NUMBER*,
                                                                        factorization::factors_kind, const ilu_options&,
                                                                        const factorization::factorization_bounds&);

}  // namespace whilst
