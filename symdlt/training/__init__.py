"""Training: the distribution of trained networks, at infinite width and to order 1/n.

`predict` gives mean and covariance of the outputs of a network trained by an `Algorithm`;
`projectors` shows what an algorithm makes of the curvature of a network.
"""

from symdlt.training.algorithms import Algorithm as Algorithm
from symdlt.training.algorithms import CustomAlgorithm as CustomAlgorithm
from symdlt.training.algorithms import GradientDescent as GradientDescent
from symdlt.training.algorithms import GradientFlow as GradientFlow
from symdlt.training.algorithms import TwoStep as TwoStep
from symdlt.training.infinite import posterior as posterior
from symdlt.training.infinite import predict_infinite as predict_infinite
from symdlt.training.infinite import predict_kernel as predict_kernel
from symdlt.training.particular import train_network as train_network
from symdlt.training.plots import plot_ntk_ellipse as plot_ntk_ellipse
from symdlt.training.plots import plot_prediction as plot_prediction
from symdlt.training.prediction import GaussianPrediction as GaussianPrediction
from symdlt.training.prediction import Prediction as Prediction
from symdlt.training.prediction_at_finite_width import predict as predict
from symdlt.training.prediction_at_finite_width import trained_dntk as trained_dntk
from symdlt.training.prediction_at_finite_width import trained_ntk as trained_ntk
from symdlt.training.projector import Projector as Projector
from symdlt.training.projector import projectors as projectors
