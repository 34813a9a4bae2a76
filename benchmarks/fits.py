"""The fits by name, for measurements in processes of their own; see ``linkfield.bench.fits``."""

from linkfield.bench.fits import elkan, linkfield, lloyd

from .mixture_fits import linkfield_mixture, scikit_mixture

FITS = {
    "linkfield": linkfield,
    "lloyd": lloyd,
    "elkan": elkan,
    "mixture": linkfield_mixture,
    "scikit mixture": scikit_mixture,
}
